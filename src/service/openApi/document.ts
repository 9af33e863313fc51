import { errorTypes } from "../../contract/errors.ts";
import type { Endpoint, ReplyContent } from "./endpoint.ts";
import { endpoints } from "./endpoints.ts";
import { components, errorReference, headerReference } from "./parts.ts";
import { type JsonSchema, schemaReference, wireSchema } from "./wireSchema.ts";

/** The service's HTTP face as OpenAPI 3.1, from the list of its endpoints and the schemas that check what comes in. */
export function openApiDocument(): JsonSchema {
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
    // Wherever this document was read from.
    servers: [{ url: "/" }],
    paths,
    components: components(),
  };
}

function operation(endpoint: Endpoint): JsonSchema {
  const { method, path, group, summary, description, access, body, reply } = endpoint;
  const who = accessWords[access];
  const headers = Object.fromEntries(
    ["X-Request-Id" as const, ...(reply.headers ?? [])].map((name) => [name, headerReference(name)]),
  );
  return {
    operationId: [method, ...path.split(/[/{}.]+/).filter((part) => part !== "" && part !== "api")].join("-"),
    tags: [group],
    summary,
    description: [description, who].filter((text) => text !== undefined).join("\n\n"),
    security: access === "open" ? [] : [access === "session" ? { session: [] } : { key: [] }],
    parameters: parameters(endpoint),
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: true,
            content: { "application/json": { schema: { $ref: schemaReference(body) } } },
          },
        }),
    responses: {
      [reply.status]: { description: reply.description, headers, ...content(reply.content) },
      ...errors(endpoint),
      default: errorReference("other"),
    },
  };
}

const accessWords: Readonly<Record<Endpoint["access"], string>> = {
  open: "Needs no key.",
  "every role": "For a key of any role.",
  members: "For a key of the role owner or member.",
  owners: "For a key of the role owner.",
  session: "For who is signed in to the page.",
};

function parameters({ parts = {}, query, headers = [] }: Endpoint): JsonSchema[] {
  const inPath = Object.entries(parts).map(([name, description]) => ({
    name,
    in: "path",
    required: true,
    description,
    schema: { type: "string" },
  }));
  const { properties = {}, required = [] } = query === undefined ? {} : asObjectSchema(wireSchema(query));
  const inQuery = Object.entries(properties).map(([name, schema]) => ({
    name,
    in: "query",
    required: required.includes(name),
    schema,
  }));
  const inHeader = headers.map(({ name, description, schema }) => ({
    name,
    in: "header",
    description,
    schema: wireSchema(schema),
  }));
  return [...inPath, ...inQuery, ...inHeader];
}

/** An object's schema has these two; the document is made from our own schemas, so anything else is a fault of ours. */
function asObjectSchema(schema: JsonSchema): {
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly required?: readonly unknown[];
} {
  const { properties, required } = schema;
  return {
    ...(typeof properties === "object" && properties !== null
      ? { properties: Object.fromEntries(Object.entries(properties)) }
      : {}),
    ...(Array.isArray(required) ? { required } : {}),
  };
}

function content(content: ReplyContent): JsonSchema {
  switch (content.kind) {
    case "json":
      return { content: { "application/json": { schema: { $ref: schemaReference(content.schema) } } } };
    case "any-json":
      return { content: { "application/json": { schema: { type: "object" } } } };
    case "text":
      return {
        content: Object.fromEntries(content.mediaTypes.map((type) => [type, { schema: { type: "string" } }])),
      };
    case "bytes":
      return { content: Object.fromEntries(content.mediaTypes.map((type) => [type, {}])) };
    case "nothing":
      return {};
    default:
      return content satisfies never;
  }
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
  return Object.fromEntries([...types].map((type) => [errorTypes[type].httpStatus, errorReference(type)]));
}
