import * as z from "zod/mini";
import { describeField, type FieldTexts } from "./file/fieldTexts.ts";
import { pipelineTexts, resourceTexts, stepTexts, wholeFileSchema } from "./pipelineFile.ts";
import { type ResourceTypeName, resourceTypeNames } from "./types/resourceTypes.ts";

type JsonSchema = z.core.JSONSchema.BaseSchema;
type AnySchema = z.core.JSONSchema._JSONSchema | z.core.JSONSchema._JSONSchema[] | undefined;

/**
 * The JSON Schema for completing and checking pipeline files in any editor. It is less strict than the parser. Its
 * descriptions are those that the extension shows.
 */
export function pipelineJsonSchema(): unknown {
  const file = described(z.toJSONSchema(wholeFileSchema, { io: "input" }), pipelineTexts, "");
  const { resources, steps } = file.properties ?? {};
  describeTypes(isSchema(resources) ? resources.additionalProperties : undefined, resourceTexts);
  describeTypes(isSchema(steps) ? steps.items : undefined, stepTexts);
  return { ...file, title: "A pipeline of Pipeline Runs" };
}

/** Describes the schema's alternatives, one for each resource type in their order. */
function describeTypes(schema: AnySchema, textsOf: (name: ResourceTypeName) => FieldTexts): void {
  if (!isSchema(schema) || schema.anyOf === undefined) return;
  schema.anyOf = schema.anyOf.map((option, index) => {
    const name = resourceTypeNames[index];
    return isSchema(option) && name !== undefined ? described(option, textsOf(name), "") : option;
  });
}

/** Adds descriptions to all fields with a text, at any depth. */
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
