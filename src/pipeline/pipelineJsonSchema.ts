import * as z from "zod/mini";
import { describeField, type FieldTexts } from "./file/fieldTexts.ts";
import { includeTexts, pipelineTexts, resourceTexts, stepTexts, wholeFileSchema } from "./pipelineFile.ts";
import { resourceTypeNames } from "./types/resourceTypeNames.ts";

type JsonSchema = z.core.JSONSchema.BaseSchema;
type AnySchema = z.core.JSONSchema._JSONSchema | z.core.JSONSchema._JSONSchema[] | undefined;

/**
 * The JSON Schema for completing and checking pipeline files in any editor. It is less strict than the parser. Its
 * descriptions are those that the extension shows.
 */
export function pipelineJsonSchema(): unknown {
  const file = described(z.toJSONSchema(wholeFileSchema, { io: "input" }), pipelineTexts, "");
  const { resources, steps, finally: cleanup } = file.properties ?? {};
  const stepKinds = [...resourceTypeNames.map(stepTexts), includeTexts];
  describeKinds(
    isSchema(resources) ? resources.additionalProperties : undefined,
    resourceTypeNames.map(resourceTexts),
  );
  for (const list of [steps, cleanup]) describeKinds(isSchema(list) ? list.items : undefined, stepKinds);
  return { ...file, title: "A pipeline of Pipeline Runs" };
}

/** Describes the schema's alternatives, in their order. */
function describeKinds(schema: AnySchema, kinds: readonly FieldTexts[]): void {
  if (!isSchema(schema) || schema.anyOf === undefined) return;
  schema.anyOf = schema.anyOf.map((option, index) =>
    isSchema(option) ? described(option, kinds[index] ?? {}, "") : option,
  );
}

function described(schema: JsonSchema, texts: FieldTexts, prefix: string): JsonSchema {
  const inner = <T extends AnySchema>(part: T) => (isSchema(part) ? described(part, texts, prefix) : part);
  return {
    ...schema,
    ...(schema.properties === undefined ? {} : { properties: fieldsOf(schema.properties, texts, prefix) }),
    ...(schema.anyOf === undefined ? {} : { anyOf: schema.anyOf.map(inner) }),
    ...(isSchema(schema.items) ? { items: inner(schema.items) } : {}),
  };
}

function fieldsOf(
  properties: NonNullable<JsonSchema["properties"]>,
  texts: FieldTexts,
  prefix: string,
): NonNullable<JsonSchema["properties"]> {
  return Object.fromEntries(
    Object.entries(properties).map(([name, field]) => {
      if (!isSchema(field)) return [name, field];
      const path = prefix === "" ? name : `${prefix}.${name}`;
      const text = texts[path];
      return [
        name,
        {
          ...described(field, texts, path),
          ...(text === undefined ? {} : { description: describeField(text) }),
        },
      ];
    }),
  );
}

function isSchema(schema: AnySchema): schema is JsonSchema {
  return typeof schema === "object" && !Array.isArray(schema);
}
