import * as z from "zod/mini";
import { kebabCase } from "./wire.ts";

/** A JSON Schema (2020-12), as OpenAPI 3.1 takes it. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** The JSON Schema of a value on the wire, with field names in kebab-case. */
export function wireSchema(schema: z.ZodMiniType): JsonSchema {
  return asWire(z.toJSONSchema(schema, options));
}

/**
 * The JSON Schemas of all `named` schemas, with field names in kebab-case; they refer to each other by name.
 * @param reference where the schema of that name will stand.
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
  // Forbids no additional fields: a reply may gain some.
  io: "input",
  override: ({ jsonSchema }: { jsonSchema: z.core.JSONSchema.BaseSchema }) => {
    // The format suffices: its pattern is a page long. An integer without a limit has JSON's.
    if (jsonSchema.format === "date-time") delete jsonSchema.pattern;
    if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
  },
} as const;

function asWire({ $schema: _, $id: __, ...schema }: JsonSchema): JsonSchema {
  return Object.fromEntries(
    Object.entries(schema).map(([keyword, value]) => [keyword, renamed(keyword, value)]),
  );
}

/** Only `properties` and `required` hold field names; any other value is plain or holds schemas. */
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
