import { errorTypes } from "../../contract/errors.ts";
import { kebabCase } from "../../contract/wire.ts";
import { type JsonSchema, wireSchema, wireSchemas } from "../../contract/wireSchema.ts";
import type { Access } from "./authenticate.ts";
import { type Endpoint, type ReplyHeader, schemas } from "./endpoints.ts";

/** The service's API as OpenAPI 3.1, made from its endpoints and schemas. */
export function openApiDocument(endpoints: readonly Endpoint[]): JsonSchema {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const endpoint of endpoints) {
    paths[endpoint.path] = { ...paths[endpoint.path], [endpoint.method]: operation(endpoint) };
  }
  return {
    openapi: "3.1.1",
    info: {
      title: "Pipeline Runs",
      version: "1.0.0",
      summary: "Start, watch and cancel pipeline runs.",
      license: { name: "MIT", identifier: "MIT" },
    },
    // The service that this document was read from.
    servers: [{ url: "/" }],
    paths,
    components: components(),
  };
}

function operation(endpoint: Endpoint): JsonSchema {
  const { method, path, summary, description, access, body, reply } = endpoint;
  const parts = path.split(/[/{}.]+/).filter((part) => part !== "" && part !== "api");
  const who = accessWords[access];
  const headers = Object.fromEntries(
    ["X-Request-Id" as const, ...(reply.headers ?? [])].map((name) => [name, reference("headers", name)]),
  );
  return {
    operationId: [method, ...parts].join("-"),
    tags: parts.slice(0, 1),
    summary,
    description: [description, who].filter((text) => text !== undefined).join("\n\n"),
    security: access === "open" ? [] : [{ key: [] }],
    parameters: parameters(endpoint),
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: true,
            content: { "application/json": { schema: reference("schemas", body) } },
          },
        }),
    responses: {
      [reply.status ?? 200]: { description: reply.description, headers, content: content(reply) },
      ...errors(endpoint),
      default: reference("responses", "other"),
    },
  };
}

const accessWords: Readonly<Record<Access, string>> = {
  runners: "Runners only.",
  open: "Needs no key.",
  "every role": "For a key of any role.",
  members: "For a key of the role owner or member.",
  owners: "For a key of the role owner.",
  "this machine": "For this machine's own key.",
};

function parameters({ params = {}, query, headers = [] }: Endpoint): JsonSchema[] {
  const inPath = Object.entries(params).map(([name, description]) => ({
    name,
    in: "path",
    required: true,
    description,
    schema: { type: "string" },
  }));
  const inQuery = Object.entries(query?.shape ?? {}).map(([name, schema]) => ({
    name: kebabCase(name),
    in: "query",
    schema: wireSchema(schema),
  }));
  const inHeader = headers.map(({ name, description, schema }) => ({
    name,
    in: "header",
    description,
    schema: wireSchema(schema),
  }));
  return [...inPath, ...inQuery, ...inHeader];
}

function content({ json, text = [], bytes = [] }: Endpoint["reply"]): JsonSchema {
  return {
    ...(json === undefined ? {} : { "application/json": { schema: reference("schemas", json) } }),
    ...Object.fromEntries(text.map((type) => [type, { schema: { type: "string" } }])),
    ...Object.fromEntries(bytes.map((type) => [type, {}])),
  };
}

function errors({ access, body, errors: own = [] }: Endpoint): JsonSchema {
  const types = new Set([
    "invalid-request" as const,
    ...(access === "open" ? [] : (["unauthorized"] as const)),
    "forbidden" as const,
    ...(body === undefined ? [] : (["payload-too-large"] as const)),
    ...own,
    "internal" as const,
  ]);
  return Object.fromEntries(
    [...types].map((type) => [errorTypes[type].httpStatus, reference("responses", type)]),
  );
}

/** Schemas, headers, errors and the key, which the endpoints refer to by name. */
function components(): JsonSchema {
  return {
    schemas: wireSchemas(schemas, (name) => reference("schemas", name).$ref),
    headers,
    responses: errorResponses(),
    securitySchemes: {
      key: { type: "apiKey", in: "header", name: "x-api-key" },
    },
  };
}

/** A reference to a named component. Responses are named by the type of an error that travels over HTTP, or `other`. */
function reference(kind: "schemas" | "headers" | "responses", name: string) {
  return { $ref: `#/components/${kind}/${name}` };
}

type ErrorHeader = "Retry-After" | "WWW-Authenticate" | "X-Request-Id";

const text = { type: "string" };

const headers: Readonly<Record<ReplyHeader | ErrorHeader, { description: string; schema: JsonSchema }>> = {
  Location: { description: "Where the run can be read.", schema: text },
  RateLimit: {
    description:
      'The day\'s runs that are left, and the seconds to 00:00 UTC: `"free-day";r=<left>;t=<seconds>` (draft-ietf-httpapi-ratelimit-headers).',
    schema: text,
  },
  "RateLimit-Policy": {
    description: 'The day\'s runs: `"free-day";q=<runs>;w=86400`.',
    schema: text,
  },
  "Retry-After": {
    description: "With scope `free-day`: the seconds to 00:00 UTC on the service's clock.",
    schema: { type: "integer", minimum: 1 },
  },
  "WWW-Authenticate": { description: "Names the header that the key goes into.", schema: text },
  "X-Request-Id": {
    description: "The request's name in the service's log: the caller's own where it sent a plain one.",
    schema: text,
  },
};

const extraHeaders: Readonly<Record<string, readonly (ReplyHeader | ErrorHeader)[]>> = {
  unauthorized: ["WWW-Authenticate"],
  "too-many-runs": ["Retry-After", "RateLimit", "RateLimit-Policy"],
};

function errorResponses(): JsonSchema {
  const known = Object.entries(errorTypes)
    .filter(([, { httpStatus }]) => httpStatus !== undefined)
    .map(([type, { next }]) => [type, errorResponse(`\`${type}\`: ${next}`, extraHeaders[type] ?? [])]);
  const other = errorResponse(
    "A fault of the request's HTTP, such as a method that the path is not there for.",
    [],
  );
  return Object.fromEntries([...known, ["other", other]]);
}

function errorResponse(description: string, extra: readonly (ReplyHeader | ErrorHeader)[]): JsonSchema {
  return {
    description,
    headers: Object.fromEntries(
      (["X-Request-Id", ...extra] as const).map((name) => [name, reference("headers", name)]),
    ),
    content: { "application/json": { schema: reference("schemas", "Error") } },
  };
}
