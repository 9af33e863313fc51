import * as z from "zod/mini";
import { describeField, textOf } from "./file/fieldTexts.ts";
import { wholeFileSchema } from "./pipelineFile.ts";

/**
 * The JSON Schema for completing and checking pipeline files in any editor. It is less strict than the parser. Its
 * descriptions are those that the extension shows.
 */
export function pipelineJsonSchema(): unknown {
  const schema = z.toJSONSchema(wholeFileSchema, {
    io: "input",
    override: ({ zodSchema, jsonSchema }) => {
      const text = textOf(zodSchema);
      if (text !== undefined) jsonSchema.description = describeField(text);
    },
  });
  return { ...schema, title: "A pipeline of Pipeline Runs" };
}
