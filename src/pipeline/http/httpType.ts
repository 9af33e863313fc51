import * as z from "zod/mini";
import { isAbsolute, joinAddress, problemOfUrl } from "../address.ts";
import { checkShape } from "../checkShape.ts";
import { parseDuration } from "../duration.ts";
import { hasReference } from "../environmentReference.ts";
import { readStatus, statusFileSchema } from "../expectedStatus.ts";
import { duration, everyStep, nonEmpty, words } from "../fileParts.ts";
import { quoted } from "../quoted.ts";
import type { StepReading } from "../readStep.ts";
import { readExpected, readTexts, readTimeout, writtenText } from "../readTexts.ts";
import type { ResourceType } from "../resourceType.ts";
import type { TextExpectation } from "../textExpectation.ts";
import type { Path } from "../yamlSource.ts";
import { type HttpStep, httpMethods } from "./httpStep.ts";

/** The http resource and its steps as a pipeline file writes them. */

const headers = z.record(
  z.string().check(z.regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, "this can't name an HTTP header")),
  words,
);

export const httpResourceSchema = z.strictObject({
  type: z.literal("http"),
  "base-url": z.optional(nonEmpty),
  headers: z.optional(headers),
  timeout: z.optional(duration),
});

export const httpStepFileSchema = z.strictObject({
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
      headers: z.optional(headers),
      json: z.optional(z.unknown()),
      text: z.optional(words),
      time: z.optional(duration),
    }),
  ),
});

type HttpResourceFile = z.infer<typeof httpResourceSchema>;
type HttpStepFile = z.infer<typeof httpStepFileSchema>;

export const httpType: ResourceType = {
  type: "http",
  actions: `one of ${httpMethods.join(", ")}`,
  stepNames: Object.keys(httpStepFileSchema.def.shape),
  standIn: { type: "http", "base-url": "http://127.0.0.1" },
  readResource(entry, path, problems) {
    const shape = { schema: httpResourceSchema, noun: "an http resource" };
    const resource = checkShape(shape, entry, path, problems);
    if (resource === undefined) return undefined;
    const base = resource["base-url"];
    const problem =
      base === undefined || hasReference(base) ? undefined : problemOfUrl(base, insteadOfPassword);
    if (problem !== undefined) problems.add([...path, "base-url"], problem);
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

/** Where a user and password of an address belong. */
const insteadOfPassword = "send them in an `authorization` header";

/** An http step with its resource's address and headers. @returns undefined when it says not exactly one request. */
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
  const { method, target } = request;
  const url = joinAddress(target, resource.file["base-url"]);
  const problem = hasReference(url) ? undefined : problemOfUrl(url, insteadOfPassword);
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
    url,
    headers: mergeHeaders(
      readTexts(resource.file.headers, [...resource.path, "headers"], source),
      readTexts(file.headers, [...path, "headers"], source),
    ),
    body: readBody(file, method, reading),
    timeoutMilliseconds: readTimeout({ file, path }, resource, problems),
    expect: readExpect(file, reading),
  };
}

/** The step's headers win, whatever case the names are written in. */
function mergeHeaders(
  common: Readonly<Record<string, string>>,
  own: Readonly<Record<string, string>>,
): Record<string, string> {
  const merged = new Map<string, string>();
  for (const [name, value] of [...Object.entries(common), ...Object.entries(own)]) {
    merged.set(name.toLowerCase(), value);
  }
  return Object.fromEntries(merged);
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
  if (hasJson) return { kind: "json", value: file.json };
  if (file.body === undefined) return { kind: "none" };
  return { kind: "text", text: writtenText(file.body, [...path, "body"], source) };
}

function readExpect(file: HttpStepFile, reading: StepReading): HttpStep["expect"] {
  const { path } = reading;
  const { status, headers, text, time } = file.expect ?? {};
  const at = [...path, "expect"];
  return {
    status: readStatus(status ?? "2xx"),
    headers: Object.fromEntries(
      Object.entries(headers ?? {}).flatMap(([name, value]): [string, TextExpectation][] => {
        const expected = readExpected(value, [...at, "headers", name], reading);
        return expected === undefined ? [] : [[name.toLowerCase(), expected]];
      }),
    ),
    json:
      file.expect !== undefined && Object.hasOwn(file.expect, "json")
        ? { value: file.expect.json }
        : undefined,
    text: text === undefined ? undefined : readExpected(text, [...at, "text"], reading),
    withinMilliseconds: time === undefined ? undefined : parseDuration(time),
  };
}
