import * as z from "zod/mini";
import { browserResourceTexts, browserStepTexts } from "../types/browser.ts";
import { cliResourceTexts, cliStepTexts } from "../types/cli.ts";
import { httpResourceTexts, httpStepTexts } from "../types/http.ts";
import { sqlResourceTexts, sqlStepTexts } from "../types/sql.ts";
import { describeField, type FieldTexts } from "./fieldTexts.ts";
import { wholeFileSchema } from "./pipelineFile.ts";
import { pipelineTexts } from "./pipelineTexts.ts";

type JsonSchema = z.core.JSONSchema.BaseSchema;
type AnySchema = z.core.JSONSchema._JSONSchema | z.core.JSONSchema._JSONSchema[] | undefined;

/**
 * The JSON Schema with which an editor completes and checks pipeline files. The parser knows more than it can say. Its
 * descriptions are those that the extension shows.
 */
export function pipelineJsonSchema(): unknown {
  const file = described(z.toJSONSchema(wholeFileSchema, { io: "input" }), pipelineTexts, "");
  const { resources, steps } = file.properties ?? {};
  describeTypes(isSchema(resources) ? resources.additionalProperties : undefined, [
    httpResourceTexts,
    sqlResourceTexts,
    browserResourceTexts,
    cliResourceTexts,
  ]);
  describeTypes(isSchema(steps) ? steps.items : undefined, [
    httpStepTexts,
    sqlStepTexts,
    browserStepTexts,
    cliStepTexts,
  ]);
  return { ...file, title: "A pipeline of Pipeline Runs" };
}

/** @param texts one for each resource type, in the order of the schema's alternatives. */
function describeTypes(schema: AnySchema, texts: readonly FieldTexts[]): void {
  if (!isSchema(schema) || schema.anyOf === undefined) return;
  schema.anyOf = schema.anyOf.map((option, index) =>
    isSchema(option) ? described(option, texts[index] ?? {}, "") : option,
  );
}

/** The same schema with a description at each field that there is a text for, however deep it stands. */
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
