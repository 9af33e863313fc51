import type { ServerResponse } from "node:http";

/** One way in which a service may say that it makes no run. */
export interface RefusalShape {
  readonly name: string;
  readonly status?: number;
  readonly contentType?: string;
  readonly body: string;
}

/** Every shape that has a scope in it, with the scope filled in. `too-many-runs` and the scope are all that is given. */
export function scopedShapes(scope: "org" | "free-day"): RefusalShape[] {
  const type = "too-many-runs";
  const message = "No run was made.";
  const problem = (uri: string, more: object = { scope }) =>
    JSON.stringify({ type: uri, title: "Too many runs", status: 429, detail: message, ...more });
  const json = (value: unknown) => JSON.stringify(value);
  const problemType = "application/problem+json";
  return [
    { name: "the error as an object, the scope inside", body: json({ error: { type, message, scope } }) },
    { name: "the error as an object, the scope beside", body: json({ error: { type, message }, scope }) },
    { name: "the error as a string, the scope beside", body: json({ error: type, scope }) },
    { name: "the scope before the error", body: json({ scope, error: type }) },
    { name: "the error's name as its code", body: json({ error: { code: type, scope } }) },
    { name: "the error's name as its name", body: json({ error: { name: type, details: { scope } } }) },
    { name: "a list of errors", body: json({ errors: [{ code: type, scope }] }) },
    { name: "a list at the top", body: json([{ type, scope }]) },
    { name: "the error nested three deep", body: json({ data: { result: { error: { type, scope } } } }) },
    { name: "the error's name at the top", body: json({ type, scope, message }) },
    {
      name: "fields that nobody knows",
      body: json({ error: { type, scope, retriable: true, at: [1, null] } }),
    },
    {
      name: "problem+json with an https URI",
      body: problem("https://errors.example/problems/too-many-runs"),
      contentType: problemType,
    },
    {
      name: "problem+json with a URN",
      body: problem("urn:problem-type:too-many-runs"),
      contentType: problemType,
    },
    {
      name: "problem+json with a fragment",
      body: problem("/problems#too-many-runs"),
      contentType: problemType,
    },
    {
      name: "problem+json with the scope in an extension",
      body: problem("about:blank", { code: type, extensions: { scope } }),
      contentType: problemType,
    },
    {
      name: "JSON under text/plain",
      body: json({ error: type, scope }),
      contentType: "text/plain; charset=utf-8",
    },
    { name: "JSON under text/html", body: json({ error: type, scope }), contentType: "text/html" },
    { name: "JSON under no type", body: json({ error: type, scope }), contentType: "" },
    { name: "JSON with spaces and lines around it", body: `\r\n  ${json({ error: type, scope })}\n\n` },
    { name: "JSON in many lines", body: JSON.stringify({ error: { type, scope } }, undefined, 4) },
    { name: "JSON behind a byte order mark", body: `\ufeff${json({ error: type, scope })}` },
    {
      name: "the scope only in its sentence",
      body: json({ error: { type, message: `Scope ${scope} is used up.` } }),
    },
    {
      name: "a key of the service in its words",
      body: json({ error: { type, scope, message: "plk_5ecre7-0f-the-conformance-suite" } }),
    },
  ];
}

/** Shapes of a 429 that say nothing of the scope: the status alone decides, and that is scope `org`. */
export const scopelessShapes: readonly RefusalShape[] = [
  { name: "the error as a string alone", body: '{"error":"too-many-runs"}' },
  {
    name: "the error as an object without a scope",
    body: '{"error":{"type":"too-many-runs","message":"no"}}',
  },
  { name: "a scope that nobody knows", body: '{"error":"too-many-runs","scope":"galaxy"}' },
  { name: "a scope that is no text", body: '{"error":"too-many-runs","scope":7}' },
  { name: "plain text", body: "Too Many Requests", contentType: "text/plain" },
  { name: "a web page", body: "<!doctype html><h1>429</h1>", contentType: "text/html" },
  { name: "nothing", body: "", contentType: "" },
  { name: "JSON that is cut off", body: '{"error":{"type":"too-many' },
  { name: "a bare null", body: "null" },
  { name: "a bare number", body: "429" },
  { name: "an empty list", body: "[]" },
];

/** Sends a shape, with the headers besides; a `date` of "" sends none. */
export function sendShape(
  response: ServerResponse,
  { status = 429, contentType = "application/json", body }: RefusalShape,
  { date, ...headers }: Readonly<Record<string, string>> = {},
): void {
  if (date === "") response.sendDate = false;
  response.writeHead(status, {
    ...(contentType === "" ? {} : { "content-type": contentType }),
    ...(date ? { date } : {}),
    ...headers,
  });
  response.end(body);
}
