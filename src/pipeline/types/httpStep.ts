import * as z from "zod/mini";
import { isAbsolute } from "../file/address.ts";
import {
  addressSchema,
  type DeepReadonly,
  plannedStep,
  statusRangeSchema,
  textExpectationsSchema,
  writtenDigitsSchema,
} from "../file/values.ts";

/** By their names in lower case; a list is sent as several headers. */
const headersSchema = z.record(z.string(), z.union([z.string(), z.array(z.string())]));
const authSchema = z.optional(z.object({ user: z.string(), password: z.string() }));
/** Texts, and values of any type that expressions stand for. */
const fieldsSchema = z.record(z.string(), z.unknown());

/** A step that sends a request and checks its reply, resolved against its resource and ready to run. */
export const httpStepSchema = z.object({
  type: z.literal("http"),
  ...plannedStep,
  /** In capitals, unless an expression stands for it. */
  method: z.string(),
  address: addressSchema,
  /** What the address's query has more. */
  query: fieldsSchema,
  headers: headersSchema,
  auth: authSchema,
  /** Of the resource, for the origin of its `base-url` alone; for every address where there is none. */
  ofResource: z.object({ headers: headersSchema, auth: authSchema }),
  body: z.discriminatedUnion("kind", [
    z.object({ kind: z.literal("none") }),
    z.object({ kind: z.literal("text"), text: z.string() }),
    /** `digits` is of numbers that are written otherwise than JavaScript writes them. */
    z.object({ kind: z.literal("json"), value: z.unknown(), digits: z.optional(writtenDigitsSchema) }),
    z.object({ kind: z.literal("form"), fields: fieldsSchema }),
    z.object({
      kind: z.literal("multipart"),
      parts: z.array(
        z.object({
          name: z.string(),
          content: z.discriminatedUnion("kind", [
            z.object({ kind: z.literal("text"), text: z.string() }),
            z.object({
              kind: z.literal("file"),
              path: z.string(),
              type: z.optional(z.string()),
              filename: z.optional(z.string()),
            }),
          ]),
        }),
      ),
    }),
    z.object({ kind: z.literal("file"), path: z.string() }),
  ]),
  cookies: z.boolean(),
  /** How many are followed at most. */
  redirects: z.int(),
  /** How the servers are reached. */
  connection: z.object({
    /** Each a path of the project, or the text itself. */
    tls: z.object({
      ca: z.optional(z.string()),
      cert: z.optional(z.string()),
      key: z.optional(z.string()),
      verify: z.boolean(),
    }),
    proxy: z.optional(z.string()),
    connectTo: z.record(z.string(), z.string()),
  }),
  /** A path of the project, and whether the request is looked at too. */
  openApi: z.optional(z.object({ path: z.string(), checksRequest: z.boolean() })),
  /** Whether the reply may be shown and kept. */
  keep: z.boolean(),
  timeoutMilliseconds: z.number(),
  expect: z.object({
    status: statusRangeSchema,
    headers: z.record(z.string(), textExpectationsSchema),
    /** In an object, to tell an expected `null` from no expectation. */
    json: z.optional(z.object({ value: z.unknown() })),
    /** A path of the project. */
    jsonSchema: z.optional(z.string()),
    text: z.optional(textExpectationsSchema),
    sha256: z.optional(z.string()),
    withinMilliseconds: z.optional(z.number()),
  }),
});

export type HttpStep = DeepReadonly<z.infer<typeof httpStepSchema>>;

/** What is wrong with a method, as a sentence. As all that follows, it is asked of the file and again in the run, which fills in. */
export function problemOfMethod(method: string): string | undefined {
  if (!/^[!#$%&'*+.^_`|~0-9A-Z-]+$/i.test(method)) return "this is no HTTP method, such as `PURGE`";
  return /^connect$/i.test(method)
    ? "CONNECT asks a proxy for a tunnel: see the resource's `proxy`"
    : undefined;
}

/** What is wrong with a header's value, as the end of a sentence; its spaces at both ends aren't sent. */
export function problemOfHeader(value: string): string | undefined {
  return /[\r\n]/.test(value.trim())
    ? "has a line break in its value, which HTTP can't carry"
    : /[^\t\P{Cc}]/u.test(value.trim())
      ? "has a value that HTTP can't carry: it holds a control character"
      : undefined;
}

export const userWithColon = "the user of `auth` can't contain a colon, which ends it";

/** What is wrong with a proxy's address, as a sentence. */
export function problemOfProxy(written: string): string | undefined {
  const isPlain = isAbsolute(written) && /^\/?$/.test(URL.parse(written)?.pathname ?? "no address");
  return isPlain ? undefined : "expected the address of a proxy, such as `http://127.0.0.1:3128`";
}

/** Whether a value of `tls` is the certificate or key itself, instead of its file. */
export function isPem(value: string): boolean {
  return value.trimStart().startsWith("-----BEGIN ");
}

export const notSha256 = "expected a SHA-256: 64 hexadecimal digits";

export function isSha256(text: string): boolean {
  return /^[0-9a-f]{64}$/i.test(text);
}
