import * as z from "zod/mini";
import { kebabCase } from "./wire.ts";

/** A JSON Schema (2020-12), as OpenAPI 3.1 takes it. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** The JSON Schema of a value on the wire: the fields of a schema are named in kebab-case there. */
export function wireSchema(schema: z.ZodMiniType): JsonSchema {
  return asWire(z.toJSONSchema(schema, options));
}

/**
 * The schemas by their names, with their fields in kebab-case; one refers to another by name.
 * @param reference where the named schema will stand.
 */
export function wireSchemas(
  named: Readonly<Record<string, z.ZodMiniType>>,
  reference: (name: string) => string,
): Record<string, JsonSchema> {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(named)) registry.add(schema, { id });
  const { schemas } = z.toJSONSchema(registry, { ...options, uri: reference });
  return Object.fromEntries(Object.entries(schemas).map(([id, schema]) => [id, asWire(schema)]));
}

const options = {
  // What is sent may grow by fields, so none is forbidden.
  io: "input",
  override: ({ jsonSchema }: { jsonSchema: z.core.JSONSchema.BaseSchema }) => {
    // The format says it; the pattern that goes with it is a page long. An integer without a limit has JSON's own.
    if (jsonSchema.format === "date-time") delete jsonSchema.pattern;
    if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
  },
} as const;

function asWire({ $schema: _, $id: __, ...schema }: JsonSchema): JsonSchema {
  return Object.fromEntries(
    Object.entries(schema).map(([keyword, value]) => [keyword, renamed(keyword, value)]),
  );
}

/** Fields are named in two keywords; every other value may hold schemas again, or is plain. */
function renamed(keyword: string, value: unknown): unknown {
  if (keyword === "required" && Array.isArray(value)) return value.map(String).map(kebabCase);
  if (keyword === "properties" && isObject(value)) {
    return Object.fromEntries(
      Object.entries(value).map(([name, property]) => [kebabCase(name), renamed("", property)]),
    );
  }
  if (Array.isArray(value)) return value.map((item) => renamed("", item));
  return isObject(value) ? asWire(value) : value;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
