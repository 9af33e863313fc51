// biome-ignore-all lint/suspicious/noTemplateCurlyInString: values as pipeline files write them.
import * as z from "zod/mini";
import { expectedText, field, needed, noneByDefault, typeText } from "../file/fieldTexts.ts";
import {
  duration,
  everyStep,
  expectedWords,
  nonEmpty,
  statusFileSchema,
  that,
  timeoutField,
  words,
} from "../file/values.ts";
import { authFileSchema } from "./basicAuth.ts";

/** The http resource and its steps as a pipeline file writes them. */

export const httpMethods = ["get", "post", "put", "patch", "delete", "head", "options"] as const;
export const bodyFields = ["body", "json", "form", "multipart", "file"] as const;

const target =
  "a path, put behind the resource's `base-url` with one slash between, or a whole address that begins with `http://` or `https://`";

const request = (method: string) => ({
  meaning: `Sends a ${method} request to this address: ${target}.`,
  values: ["/"],
});

const noBody = "Not with `get` or `head`, nor beside another body.";
const orPem = "a file of the project, or the text of it (`-----BEGIN …`) out of the environment";
const falseAlone = { byDefault: "true", values: ["false"] };

const headerName = z
  .string()
  .check(z.regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, "this can't name an HTTP header"));
const headers = z.record(headerName, expectedWords);
const fields = z.record(z.string(), z.union([words, z.array(words)], "expected text, or a list of texts"));
const redirects = z.int().check(z.minimum(0), z.maximum(20));

const fileOfPart = z.strictObject({
  file: needed(nonEmpty, { meaning: "A file of the project, by its path from there." }),
  type: field(nonEmpty, { meaning: "The file's content type.", byDefault: "`application/octet-stream`" }),
  filename: field(nonEmpty, { meaning: "The name that is sent.", byDefault: "the file's own" }),
});
const part = z.union([words, fileOfPart]);
const parts = z.record(
  z.string(),
  z.union([words, fileOfPart, z.array(part)], "expected text, `{ file: path }`, or a list of these"),
);

export const httpResourceSchema = z.strictObject({
  type: needed(z.literal("http"), typeText),
  "base-url": field(nonEmpty, {
    meaning: "The address that is put before each step's path.",
    byDefault: "none: then each step has a whole address",
    bounds: "begins with `http://` or `https://`",
    values: ["http://127.0.0.1:8080"],
  }),
  headers: noneByDefault(
    headers,
    "Headers that are sent with each request; a list sends one several times. A step's own header of the same name wins.",
  ),
  auth: noneByDefault(
    authFileSchema,
    "Who asks, sent with each request to the origin of `base-url`. A step's own wins.",
  ),
  cookies: field(z.boolean(), {
    meaning: "Whether the cookies that replies set are sent with the redirects and steps that follow.",
    ...falseAlone,
  }),
  redirects: field(redirects, {
    meaning: "How many redirects a step follows; with 0 a redirect is the reply itself.",
    byDefault: "10",
    bounds: "0 to 20",
    values: ["0"],
  }),
  tls: field(
    z.strictObject({
      ca: noneByDefault(nonEmpty, `Authorities that are trusted beside those of the machine: ${orPem}.`),
      cert: noneByDefault(
        nonEmpty,
        `The certificate by which this side proves who it is to the origin of \`base-url\`: ${orPem}.`,
      ),
      key: noneByDefault(nonEmpty, `The certificate's key, without a passphrase: ${orPem}.`),
      verify: field(z.boolean(), {
        meaning: "Whether a server's certificate has to be trusted and match the host.",
        ...falseAlone,
      }),
    }),
    { meaning: "How the servers of this resource prove who they are, and how this side does." },
  ),
  proxy: field(nonEmpty, {
    meaning:
      "The proxy through which all requests go. A user and password stand in its address, percent-encoded.",
    byDefault: "none, whatever the environment says",
    bounds: "begins with `http://` or `https://`",
    values: ["http://127.0.0.1:3128"],
  }),
  "connect-to": field(z.record(z.string(), nonEmpty), {
    meaning:
      "Where to connect to instead of a host: its name, with a port or without, `*.example.com` or `*`, and behind it an address. Everything else of a request stays as it is, its certificate too.",
    byDefault: "none",
    bounds: "`host`, `host:port` or `unix:/path/of.sock`; the first that fits counts",
  }),
  openapi: field(nonEmpty, {
    meaning:
      "The OpenAPI document that each request to `base-url` has to fit before it is sent, and each reply: a file of the project, by its path from there.",
    byDefault: "none",
    bounds: "OpenAPI 3.0 or 3.1, or Swagger 2.0",
  }),
  timeout: timeoutField("How long each request, its redirects and its reply may take together.", "`10s`"),
});

export const httpStepFileSchema = z.strictObject({
  ...everyStep,
  get: field(nonEmpty, request("GET")),
  post: field(nonEmpty, request("POST")),
  put: field(nonEmpty, request("PUT")),
  patch: field(nonEmpty, request("PATCH")),
  delete: field(nonEmpty, request("DELETE")),
  head: field(nonEmpty, request("HEAD")),
  options: field(
    z
      .string("this is the method, with a path such as `options: /`; what Hurl calls options are fields here")
      .check(z.minLength(1, "this text is empty")),
    request("OPTIONS"),
  ),
  request: field(
    z.strictObject({
      method: needed(nonEmpty, {
        meaning: "The method, sent in capitals.",
        values: ["PURGE", "PROPFIND", "REPORT"],
      }),
      path: needed(nonEmpty, { meaning: `The address: ${target}.`, values: ["/"] }),
    }),
    { meaning: "Sends a request of any other method." },
  ),
  query: noneByDefault(
    fields,
    "The address's query by its names, behind what it has already. Values are percent-encoded, a list is repeated, and an expression that gives null is left out.",
  ),
  headers: field(headers, {
    meaning:
      "Headers of this request; a list sends one several times. They win over the resource's of the same name.",
    byDefault: "the resource's",
  }),
  auth: field(authFileSchema, { meaning: "Who asks.", byDefault: "the resource's" }),
  body: noneByDefault(
    z.union(
      [z.string(), z.number(), z.boolean()],
      "expected text; `json` sends any value, and `form` the fields of a form",
    ),
    `The request's body as text. ${noBody}`,
  ),
  json: noneByDefault(
    z.unknown(),
    `The request's body: any value, sent as JSON with \`content-type: application/json\`. ${noBody}`,
  ),
  form: noneByDefault(
    fields,
    `The request's body: the fields of a form, sent as \`application/x-www-form-urlencoded\`; a list is repeated, and an expression that gives null is left out. ${noBody}`,
  ),
  multipart: noneByDefault(
    parts,
    `The request's body: the parts of a form, sent as \`multipart/form-data\`. Each is a text, \`{ file: path, type, filename }\`, or a list of these. ${noBody}`,
  ),
  file: noneByDefault(
    nonEmpty,
    `The request's body: a file of the project, by its path from there. Its type is that of the header \`content-type\`, else \`application/octet-stream\`. ${noBody}`,
  ),
  cookies: field(z.boolean(), {
    meaning: "Whether cookies are sent with this request, and those of its reply are kept.",
    byDefault: "the resource's, else true",
    values: ["false"],
  }),
  redirects: field(redirects, {
    meaning: "How many redirects are followed; with 0 a redirect is the reply itself.",
    byDefault: "the resource's, else 10; 0 where `expect.status` is a 3xx",
    bounds: "0 to 20",
    values: ["0"],
  }),
  openapi: field(z.literal([false, "reply"], "expected `reply` or `false`"), {
    meaning:
      "With `reply` the request may be other than the resource's OpenAPI document says, as when it is to be refused; with `false` the reply too.",
    byDefault: "both have to fit",
    values: ["reply", "false"],
  }),
  keep: field(z.boolean(), {
    meaning:
      "Whether the reply may be kept with the run and be shown in messages and the log. Later steps can read it anyway.",
    ...falseAlone,
  }),
  timeout: timeoutField(
    "How long this request, its redirects and its reply may take together.",
    "the resource's, else `10s`",
  ),
  expect: field(
    z.strictObject({
      status: field(
        statusFileSchema(
          "expected one status; several are a condition: `that: this.status == 200 || this.status == 201`",
        ),
        {
          meaning: "The reply's status. Redirects are followed, unless a 3xx is expected.",
          byDefault: "`2xx`",
          bounds: "a number from 100 to 599, or `1xx` to `5xx`",
          values: "2xx 200 201 202 204 301 304 400 401 403 404 409 422 5xx".split(" "),
        },
      ),
      headers: noneByDefault(headers, `What each header of the reply holds: ${expectedText}.`),
      json: noneByDefault(
        z.unknown(),
        "A value that the reply's JSON has to match: objects may hold more than is written, lists have to be as long, all else has to be equal.",
      ),
      "json-schema": field(nonEmpty, {
        meaning:
          "A JSON Schema that the reply's JSON has to fit: a file of the project, by its path from there.",
        byDefault: "none",
        bounds: "draft 07, 2019-09 or 2020-12 by its `$schema`, else 2020-12",
      }),
      text: noneByDefault(expectedWords, `What the reply holds: ${expectedText}.`),
      sha256: field(nonEmpty, {
        meaning: "The SHA-256 of the reply's body, which may be of any size.",
        byDefault: "none",
        bounds: "64 hexadecimal digits",
      }),
      time: field(duration, {
        meaning: "The longest that the reply may take.",
        byDefault: "none",
        bounds: "a length of time",
        values: ["500ms", "1s", "2s", "5s"],
      }),
      that,
    }),
    {
      meaning: "What the reply has to be like; otherwise the step fails.",
      byDefault: "a status of `2xx`",
    },
  ),
});

export type HttpResourceFile = z.infer<typeof httpResourceSchema>;
export type HttpStepFile = z.infer<typeof httpStepFileSchema>;
