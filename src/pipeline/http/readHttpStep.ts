import { isAbsolute, joinAddress, problemOfUrl } from "../address.ts";
import { parseDuration } from "../duration.ts";
import { hasReference } from "../environmentReference.ts";
import { readStatus } from "../expectedStatus.ts";
import { quoted } from "../quoted.ts";
import type { StepReading } from "../readStep.ts";
import { readExpected, readTexts, writtenText } from "../readTexts.ts";
import { readTimeout } from "../readTimeout.ts";
import type { TextExpectation } from "../textExpectation.ts";
import type { Path } from "../yamlSource.ts";
import type { HttpResourceFile, HttpStepFile } from "./httpFile.ts";
import { type HttpStep, httpMethods } from "./httpStep.ts";

interface HttpResource {
  readonly file: HttpResourceFile;
  readonly path: Path;
}

/** Where a user and password of an address belong. */
export const insteadOfPassword = "send them in an `authorization` header";

/** An http step with its resource's address and headers. @returns undefined when it says not exactly one request. */
export function readHttpStep(
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
