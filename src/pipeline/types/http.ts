// biome-ignore-all lint/suspicious/noTemplateCurlyInString: snippets.
import * as z from "zod/mini";
import { addressSchema, isAbsolute, joinAddress } from "../file/address.ts";
import { checkShape } from "../file/checkShape.ts";
import { parseDuration } from "../file/duration.ts";
import type { FieldTexts } from "../file/fieldTexts.ts";
import { expectedText, timeoutBounds, timeoutValues } from "../file/fieldTexts.ts";
import type { ProblemList } from "../file/problemList.ts";
import type { StepReading } from "../file/readValues.ts";
import {
  checkNumbers,
  problemOfUrl,
  readAllExpected,
  readTexts,
  readTimeout,
  writtenText,
} from "../file/readValues.ts";
import { hasExpression } from "../file/textPieces.ts";
import {
  type DeepReadonly,
  duration,
  everyStep,
  expectedWords,
  nonEmpty,
  plannedStep,
  readStatus,
  statusFileSchema,
  statusRangeSchema,
  textExpectationsSchema,
  that,
  words,
} from "../file/values.ts";
import type { Path } from "../file/yamlSource.ts";
import { quoted } from "../mistakes/problem.ts";
import type { ResourceType } from "./resourceType.ts";

const httpMethods = ["get", "post", "put", "patch", "delete", "head"] as const;

/** A step that sends a request and checks its reply, resolved against its resource and ready to run. */
export const httpStepSchema = z.object({
  type: z.literal("http"),
  ...plannedStep,
  method: z.enum(httpMethods),
  address: addressSchema,
  /** By their names in lower case. */
  headers: z.record(z.string(), z.string()),
  /** Those of the resource, which are for the origin of its `base-url` alone; for every address where there is none. */
  resourceHeaders: z.record(z.string(), z.string()),
  body: z.discriminatedUnion("kind", [
    z.object({ kind: z.literal("none") }),
    z.object({ kind: z.literal("text"), text: z.string() }),
    z.object({ kind: z.literal("json"), value: z.unknown() }),
  ]),
  timeoutMilliseconds: z.number(),
  expect: z.object({
    status: statusRangeSchema,
    headers: z.record(z.string(), textExpectationsSchema),
    /** In an object, to tell an expected `null` from no expectation. */
    json: z.optional(z.object({ value: z.unknown() })),
    text: z.optional(textExpectationsSchema),
    withinMilliseconds: z.optional(z.number()),
  }),
});

export type HttpStep = DeepReadonly<z.infer<typeof httpStepSchema>>;

/** The http resource and its steps as a pipeline file writes them. */

const headerName = z
  .string()
  .check(z.regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, "this can't name an HTTP header"));
const headers = z.record(headerName, words);

const httpResourceSchema = z.strictObject({
  type: z.literal("http"),
  "base-url": z.optional(nonEmpty),
  headers: z.optional(headers),
  timeout: z.optional(duration),
});

const httpStepFileSchema = z.strictObject({
  ...everyStep,
  get: z.optional(nonEmpty),
  post: z.optional(nonEmpty),
  put: z.optional(nonEmpty),
  patch: z.optional(nonEmpty),
  delete: z.optional(nonEmpty),
  head: z.optional(nonEmpty),
  headers: z.optional(headers),
  body: z.optional(words),
  json: z.optional(z.unknown()),
  timeout: z.optional(duration),
  expect: z.optional(
    z.strictObject({
      status: z.optional(statusFileSchema),
      headers: z.optional(z.record(headerName, expectedWords)),
      json: z.optional(z.unknown()),
      text: z.optional(expectedWords),
      time: z.optional(duration),
      that,
    }),
  ),
});

type HttpResourceFile = z.infer<typeof httpResourceSchema>;
type HttpStepFile = z.infer<typeof httpStepFileSchema>;

const target =
  "a path, put behind the resource's `base-url` with one slash between, or a whole address that begins with `http://` or `https://`";

const request = (method: string) => ({
  meaning: `Sends a ${method} request to this address: ${target}.`,
  values: ["/"],
});

/** A resource of type http. */
const resourceTexts: FieldTexts = {
  "base-url": {
    meaning: "The address that is put before each step's path.",
    byDefault: "none: then each step has a whole address",
    bounds: "begins with `http://` or `https://`",
    values: ["http://127.0.0.1:8080"],
  },
  headers: {
    meaning: "Headers that are sent with each request. A step's own header of the same name wins.",
    byDefault: "none",
  },
  timeout: {
    meaning: "How long each request, its redirects and its reply may take together.",
    byDefault: "`10s`",
    bounds: timeoutBounds,
    values: timeoutValues,
  },
};

/** A step that uses such a resource. */
const stepTexts: FieldTexts = {
  get: request("GET"),
  post: request("POST"),
  put: request("PUT"),
  patch: request("PATCH"),
  delete: request("DELETE"),
  head: request("HEAD"),
  headers: {
    meaning: "Headers of this request. They win over the resource's of the same name.",
    byDefault: "the resource's",
  },
  body: {
    meaning: "The request's body as text. Not with `get` or `head`, nor beside `json`.",
    byDefault: "none",
  },
  json: {
    meaning:
      "The request's body: any value, sent as JSON with `content-type: application/json`. Not with `get` or `head`, nor beside `body`.",
    byDefault: "none",
  },
  timeout: {
    meaning: "How long this request, its redirects and its reply may take together.",
    byDefault: "the resource's, else `10s`",
    bounds: timeoutBounds,
    values: timeoutValues,
  },
  expect: {
    meaning: "What the reply has to be like; otherwise the step fails.",
    byDefault: "a status of `2xx`",
  },
  "expect.status": {
    meaning: "The reply's status. Redirects are followed, unless a 3xx is expected.",
    byDefault: "`2xx`",
    bounds: "a number from 100 to 599, or `1xx` to `5xx`",
    values: [
      "2xx",
      "200",
      "201",
      "202",
      "204",
      "301",
      "304",
      "400",
      "401",
      "403",
      "404",
      "409",
      "422",
      "5xx",
    ],
  },
  "expect.headers": { meaning: `What each header of the reply holds: ${expectedText}.`, byDefault: "none" },
  "expect.json": {
    meaning:
      "A value that the reply's JSON has to match: objects may hold more than is written, lists have to be as long, all else has to be equal.",
    byDefault: "none",
  },
  "expect.text": { meaning: `What the reply holds: ${expectedText}.`, byDefault: "none" },
  "expect.time": {
    meaning: "The longest that the reply may take.",
    byDefault: "none",
    bounds: "a length of time",
    values: ["500ms", "1s", "2s", "5s"],
  },
};

export const httpType: ResourceType<HttpStep> = {
  type: "http",
  meaning: "Sends a request and looks at the reply.",
  actions: `one of ${httpMethods.join(", ")}`,
  file: { resource: httpResourceSchema, step: httpStepFileSchema },
  texts: { resource: resourceTexts, step: stepTexts },
  snippets: {
    resource: { name: "shop", fields: ', base-url: "${2:http://127.0.0.1:8080}"' },
    step: { name: "it answers", lines: ["get: ${2:/}", "expect: { status: ${3:200} }"] },
  },
  validResource: { type: "http", "base-url": "http://127.0.0.1" },
  readResource(entry, path, problems) {
    const shape = { schema: httpResourceSchema, noun: "an http resource" };
    const resource = checkShape(shape, entry, path, problems);
    if (resource === undefined) return undefined;
    const base = resource["base-url"];
    const problem =
      base === undefined || hasExpression(base) ? undefined : problemOfUrl(base, insteadOfPassword);
    if (problem !== undefined) problems.add([...path, "base-url"], problem);
    checkHeaders(resource.headers, [...path, "headers"], problems);
    return (step, reading) => {
      const stepShape = { schema: httpStepFileSchema, noun: "an http step", foreign: reading.foreignName };
      const file = checkShape(stepShape, step, reading.path, reading.problems);
      return file && readHttpStep(file, { file: resource, path }, reading);
    };
  },
};

interface HttpResource {
  readonly file: HttpResourceFile;
  readonly path: Path;
}

/** Where a user and password belong instead of the address. */
const insteadOfPassword = "send them in an `authorization` header";

/** Resolves a step against its resource. @returns undefined when it has no request. */
function readHttpStep(
  file: HttpStepFile,
  resource: HttpResource,
  reading: StepReading,
): HttpStep | undefined {
  const { path, problems, source } = reading;
  const [request, ...others] = httpMethods.flatMap((method) => {
    const target = file[method];
    return target === undefined ? [] : [{ method, target }];
  });
  if (request === undefined) {
    problems.add(path, `this step does nothing; an http step has one of ${httpMethods.join(", ")}`);
    return undefined;
  }
  for (const { method } of others) {
    problems.addToName(
      [...path, method],
      `a step sends one request, and this one already has \`${request.method}\``,
    );
  }
  checkHeaders(file.headers, [...path, "headers"], problems);
  const { method, target } = request;
  const address = { base: resource.file["base-url"], target };
  const url = joinAddress(address);
  const problem = hasExpression(url) ? undefined : problemOfUrl(url, insteadOfPassword);
  if (problem !== undefined && (resource.file["base-url"] === undefined || isAbsolute(target))) {
    problems.add(
      [...path, method],
      isAbsolute(target)
        ? problem
        : `\`${quoted(resource.path.map(String).at(-1) ?? "")}\` has no \`base-url\`, so this must be a whole address, beginning with http:// or https://`,
    );
  }
  return {
    type: "http",
    name: file.name ?? quoted(`${method.toUpperCase()} ${target}`),
    use: file.use,
    method,
    address,
    headers: readHeaders(file, path, source),
    resourceHeaders: readHeaders(resource.file, resource.path, source),
    body: readBody(file, method, reading),
    timeoutMilliseconds: readTimeout({ file, path }, resource, problems),
    expect: readExpect(file, reading),
  };
}

/** By their names in lower case. */
function readHeaders(
  file: { readonly headers?: HttpResourceFile["headers"] },
  path: Path,
  source: StepReading["source"],
): Record<string, string> {
  const texts = Object.entries(readTexts(file.headers, [...path, "headers"], source));
  return Object.fromEntries(texts.map(([name, value]) => [name.toLowerCase(), value]));
}

/** What is wrong with a header's value, as the end of a sentence; its spaces at both ends aren't sent. */
export function problemOfHeader(value: string): string | undefined {
  return /[\r\n]/.test(value.trim())
    ? "has a line break in its value, which HTTP can't carry"
    : /[^\t\P{Cc}]/u.test(value.trim())
      ? "has a value that HTTP can't carry: it holds a control character"
      : undefined;
}

/** Headers of the connection, which a request can't choose. */
const ofConnection = new Set(["expect", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade"]);

function checkHeaders(headers: HttpResourceFile["headers"], path: Path, problems: ProblemList): void {
  for (const [name, value] of Object.entries(headers ?? {})) {
    if (ofConnection.has(name.toLowerCase())) {
      problems.addToName(
        [...path, name],
        `\`${name}\` is between the connection's two ends and can't be sent: leave it out`,
      );
    }
    const problem = typeof value === "string" ? problemOfHeader(value) : undefined;
    if (problem !== undefined) problems.add([...path, name], `this header ${problem}`);
  }
}

function readBody(file: HttpStepFile, method: HttpStep["method"], reading: StepReading): HttpStep["body"] {
  const { path, problems, source } = reading;
  const hasJson = Object.hasOwn(file, "json");
  if (hasJson && file.body !== undefined) {
    problems.addToName([...path, "json"], "a request has one body: `body` or `json`, not both");
  }
  if ((hasJson || file.body !== undefined) && (method === "get" || method === "head")) {
    problems.addToName([...path, hasJson ? "json" : "body"], `a ${method} request has no body`);
  }
  checkNumbers(file.json, [...path, "json"], reading);
  if (hasJson) return { kind: "json", value: file.json };
  if (file.body === undefined) return { kind: "none" };
  return { kind: "text", text: writtenText(file.body, [...path, "body"], source) };
}

function readExpect(file: HttpStepFile, reading: StepReading): HttpStep["expect"] {
  const { path } = reading;
  const { status, headers, text, time } = file.expect ?? {};
  const at = [...path, "expect"];
  checkNumbers(file.expect?.json, [...at, "json"], reading);
  return {
    status: readStatus(status ?? "2xx"),
    headers: Object.fromEntries(
      Object.entries(headers ?? {}).map(([name, value]) => [
        name.toLowerCase(),
        readAllExpected(value, [...at, "headers", name], reading),
      ]),
    ),
    json:
      file.expect !== undefined && Object.hasOwn(file.expect, "json")
        ? { value: file.expect.json }
        : undefined,
    text: text === undefined ? undefined : readAllExpected(text, [...at, "text"], reading),
    withinMilliseconds: time === undefined ? undefined : parseDuration(time),
  };
}
