import { errorTypes } from "../../contract/errors.ts";
import type { ReplyHeader } from "./endpoint.ts";
import { schemas } from "./schemas.ts";
import { type JsonSchema, schemaReference, wireSchemas } from "./wireSchema.ts";

/** What the endpoints refer to by name: schemas, headers, errors, and the ways to sign in. */
export function components(): JsonSchema {
  return {
    schemas: wireSchemas(schemas),
    headers: Object.fromEntries(
      Object.entries(headers).map(([name, { description, schema }]) => [name, { description, schema }]),
    ),
    responses: errorResponses(),
    securitySchemes: {
      key: { type: "apiKey", in: "header", name: "x-api-key" },
      session: {
        type: "apiKey",
        in: "cookie",
        name: "pipeline-runs-{service}",
        description: "Set by the page's sign-in. Its name tells this service's cookie from another port's.",
      },
    },
  };
}

export function headerReference(name: ReplyHeader | ErrorHeader): JsonSchema {
  return { $ref: `#/components/headers/${name}` };
}

/** @param type one of the contract's errors that travel over HTTP, or `other`. */
export function errorReference(type: string): JsonSchema {
  return { $ref: `#/components/responses/${type}` };
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
      (["X-Request-Id", ...extra] as const).map((name) => [name, headerReference(name)]),
    ),
    content: { "application/json": { schema: { $ref: schemaReference("Error") } } },
  };
}
