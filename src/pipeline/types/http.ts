// biome-ignore-all lint/suspicious/noTemplateCurlyInString: snippets.

import { problemOfConnect } from "../file/address.ts";
import { parseDuration } from "../file/duration.ts";
import { readStatus } from "../file/expectation.ts";
import type { ProblemList } from "../file/problemList.ts";
import {
  checkBaseUrl,
  checkNumbers,
  checkReadPath,
  readAddress,
  readAllExpected,
  readTimeout,
  type StepReading,
  writtenDigits,
  writtenText,
} from "../file/readValues.ts";
import { hasExpression } from "../file/textPieces.ts";
import type { Path } from "../file/yamlSource.ts";
import { quoted } from "../mistakes/problem.ts";
import { checkAuth, insteadOfPassword, readAuth } from "./basicAuth.ts";
import {
  bodyFields,
  type HttpResourceFile,
  type HttpStepFile,
  httpMethods,
  httpResourceSchema,
  httpStepFileSchema,
} from "./httpFile.ts";
import {
  type HttpStep,
  isPem,
  isSha256,
  notSha256,
  problemOfHeader,
  problemOfMethod,
  problemOfProxy,
} from "./httpStep.ts";
import { type ReadResource, resourceType } from "./resourceType.ts";

const requests = [...httpMethods, "request"] as const;

export const httpType = resourceType({
  type: "http",
  meaning: "Sends a request and looks at the reply.",
  actions: `one of ${requests.join(", ")}`,
  file: { resource: httpResourceSchema, step: httpStepFileSchema },
  snippets: {
    resource: { name: "shop", fields: ', base-url: "${2:http://127.0.0.1:8080}"' },
    step: { name: "it answers", lines: ["get: ${2:/}", "expect: { status: ${3:200} }"] },
  },
  validResource: { type: "http", "base-url": "http://127.0.0.1" },
  readResource(resource, problems) {
    checkBaseUrl(resource, insteadOfPassword, problems);
    checkHeaders(resource.file, resource.path, problems);
    checkConnection(resource.file, resource.path, problems);
    return (step, reading) => readHttpStep(step, resource, reading);
  },
});

/** Resolves a step against its resource. @returns undefined when it has no request. */
function readHttpStep(
  file: HttpStepFile,
  resource: ReadResource<HttpResourceFile>,
  reading: StepReading,
): HttpStep | undefined {
  const { path, problems, source } = reading;
  const [field, ...others] = requests.filter((name) => file[name] !== undefined);
  if (field === undefined) return undefined;
  for (const other of others) {
    problems.addToName([...path, other], `a step sends one request, and this one already has \`${field}\``);
  }
  const written = file[field] ?? "";
  const request = typeof written === "string" ? { method: field, path: written } : written;
  const ofMethod = hasExpression(request.method) ? undefined : problemOfMethod(request.method);
  if (ofMethod !== undefined) problems.add([...path, "request", "method"], ofMethod);
  checkHeaders(file, path, problems);
  const at = field === "request" ? [...path, field, "path"] : [...path, field];
  const method = hasExpression(request.method) ? request.method : request.method.toUpperCase();
  return {
    type: "http",
    name: file.name ?? quoted(`${method} ${request.path}`),
    use: file.use,
    method,
    address: readAddress(request.path, at, resource, insteadOfPassword, problems),
    query: readFields(file.query, [...path, "query"], source),
    headers: readHeaders(file, path, source),
    auth: readAuth(file, path, source),
    ofResource: {
      headers: readHeaders(resource.file, resource.path, source),
      auth: readAuth(resource.file, resource.path, source),
    },
    body: readBody(file, field, reading),
    cookies: file.cookies ?? resource.file.cookies ?? true,
    redirects: isRedirect(file) ? 0 : (file.redirects ?? resource.file.redirects ?? redirectsByDefault),
    connection: {
      tls: { ...resource.file.tls, verify: resource.file.tls?.verify ?? true },
      proxy: resource.file.proxy,
      connectTo: resource.file["connect-to"] ?? {},
    },
    openApi:
      resource.file.openapi === undefined || file.openapi === false
        ? undefined
        : { path: resource.file.openapi, checksRequest: file.openapi !== "reply" },
    keep: file.keep ?? true,
    timeoutMilliseconds: readTimeout({ file, path }, resource, problems),
    expect: readExpect(file, reading),
  };
}

const redirectsByDefault = 10;

function isRedirect({ expect }: HttpStepFile): boolean {
  const { from } = readStatus(expect?.status ?? "2xx");
  return from >= 300 && from < 400;
}

type Words = string | number | boolean;

function textsOf(value: Words | readonly Words[], path: Path, source: StepReading["source"]) {
  return typeof value === "object"
    ? value.map((item, index) => writtenText(item, [...path, index], source))
    : writtenText(value, path, source);
}

function readFields(
  fields: HttpStepFile["query"],
  path: Path,
  source: StepReading["source"],
): Record<string, string | string[]> {
  return Object.fromEntries(
    Object.entries(fields ?? {}).map(([name, value]) => [name, textsOf(value, [...path, name], source)]),
  );
}

/** By their names in lower case. */
function readHeaders(
  file: { readonly headers?: HttpResourceFile["headers"] },
  path: Path,
  source: StepReading["source"],
): Record<string, string | string[]> {
  const texts = Object.entries(readFields(file.headers, [...path, "headers"], source));
  return Object.fromEntries(texts.map(([name, value]) => [name.toLowerCase(), value]));
}

/** Headers of the connection, which a request can't choose. */
const ofConnection = new Set(["expect", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade"]);

function checkHeaders(
  { headers = {}, auth }: Pick<HttpResourceFile, "headers" | "auth">,
  path: Path,
  problems: ProblemList,
): void {
  for (const [name, value] of Object.entries(headers)) {
    const at = [...path, "headers", name];
    if (ofConnection.has(name.toLowerCase())) {
      problems.addToName(
        at,
        `\`${name}\` is between the connection's two ends and can't be sent: leave it out`,
      );
    }
    if (auth !== undefined && name.toLowerCase() === "authorization")
      problems.addToName(at, "this header is what `auth` sends: write one of them");
    for (const [index, item] of [value].flat().entries()) {
      const problem = typeof item === "string" ? problemOfHeader(item) : undefined;
      if (problem !== undefined)
        problems.add(Array.isArray(value) ? [...at, index] : at, `this header ${problem}`);
    }
  }
  checkAuth({ auth }, path, problems);
}

function checkConnection(file: HttpResourceFile, path: Path, problems: ProblemList): void {
  const { tls = {}, proxy, "connect-to": connectTo, openapi } = file;
  if (openapi !== undefined) checkReadPath(openapi, [...path, "openapi"], problems);
  for (const name of ["ca", "cert", "key"] as const) {
    const written = tls[name];
    if (written !== undefined && !isPem(written)) checkReadPath(written, [...path, "tls", name], problems);
  }
  if ((tls.cert === undefined) !== (tls.key === undefined))
    problems.add([...path, "tls"], "a certificate has a key: write both, `cert` and `key`");
  const ofProxy = proxy === undefined || hasExpression(proxy) ? undefined : problemOfProxy(proxy);
  if (ofProxy !== undefined) problems.add([...path, "proxy"], ofProxy);
  if (proxy !== undefined && connectTo !== undefined)
    problems.addToName(
      [...path, "connect-to"],
      "with a `proxy` all connections go there: it says itself where it connects to",
    );
  for (const [from, to] of Object.entries(connectTo ?? {})) {
    const problem = hasExpression(from) || hasExpression(to) ? undefined : problemOfConnect(from, to);
    if (problem !== undefined) problems.add([...path, "connect-to", from], problem);
  }
}

function readBody(file: HttpStepFile, method: string, reading: StepReading): HttpStep["body"] {
  const { path, problems, source } = reading;
  const [first, ...others] = bodyFields.filter((name) => Object.hasOwn(file, name));
  if (first === undefined) return { kind: "none" };
  const at = [...path, first];
  for (const name of others)
    problems.addToName([...path, name], `a request has one body: \`${first}\` or \`${name}\`, not both`);
  if (method === "get" || method === "head") {
    problems.addToName(at, `a ${method} request has no body; \`request\` sends one with any method`);
  }
  checkNumbers(file.json, [...path, "json"], reading);
  if (Object.hasOwn(file, "json")) {
    const digits = writtenDigits(file.json, [...path, "json"], source);
    return { kind: "json", value: file.json, ...(digits !== undefined && { digits }) };
  }
  if (file.form !== undefined) return { kind: "form", fields: readFields(file.form, at, source) };
  if (file.multipart !== undefined) {
    for (const name of Object.keys(file.headers ?? {}))
      if (name.toLowerCase() === "content-type")
        problems.addToName(
          [...path, "headers", name],
          "leave this header out: `multipart` sends its own, with what is between the parts",
        );
    return { kind: "multipart", parts: readParts(file.multipart, at, reading) };
  }
  if (file.file !== undefined) {
    checkReadPath(file.file, at, problems);
    return { kind: "file", path: file.file };
  }
  return file.body === undefined
    ? { kind: "none" }
    : { kind: "text", text: writtenText(file.body, at, source) };
}

function readParts(
  parts: NonNullable<HttpStepFile["multipart"]>,
  path: Path,
  { problems, source }: StepReading,
): Extract<HttpStep["body"], { kind: "multipart" }>["parts"] {
  return Object.entries(parts).flatMap(([name, written]) =>
    [written].flat().map((part, index) => {
      const at = Array.isArray(written) ? [...path, name, index] : [...path, name];
      if (typeof part !== "object")
        return { name, content: { kind: "text", text: writtenText(part, at, source) } } as const;
      checkReadPath(part.file, [...at, "file"], problems);
      const { file, type, filename } = part;
      return { name, content: { kind: "file", path: file, type, filename } } as const;
    }),
  );
}

function readExpect(file: HttpStepFile, reading: StepReading): HttpStep["expect"] {
  const { path, problems } = reading;
  const { status, headers, "json-schema": jsonSchema, text, sha256, time } = file.expect ?? {};
  const at = [...path, "expect"];
  checkNumbers(file.expect?.json, [...at, "json"], reading);
  if (jsonSchema !== undefined) checkReadPath(jsonSchema, [...at, "json-schema"], problems);
  if (sha256 !== undefined && !hasExpression(sha256) && !isSha256(sha256))
    problems.add([...at, "sha256"], notSha256);
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
    jsonSchema,
    text: text === undefined ? undefined : readAllExpected(text, [...at, "text"], reading),
    sha256,
    withinMilliseconds: time === undefined ? undefined : parseDuration(time),
  };
}
