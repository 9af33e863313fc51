import * as z from "zod/mini";
import { outputs } from "../../src/cli/output/outputs.ts";
import { type JsonSchema, wireSchema } from "../../src/contract/wireSchema.ts";

/** The version of the `--json` output; it changes only if a field is removed. */
const version = 2;

/**
 * The JSON Schemas of the `--json` output: each command's result by its words, and `failure` and `refusal`.
 * `failure` may include facts of the command.
 */
export function outputsJsonSchema(): JsonSchema {
  const results = Object.entries(outputs).map(([command, facts]) => {
    const head = z.object({ ok: z.literal(true), command: z.literal(command), warnings: z.optional(texts) });
    return [command, wireSchema(z.extend(head, facts.shape))];
  });
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: `What the tool prints with --json, version ${version}`,
    $defs: {
      ...Object.fromEntries(results),
      failure: wireSchema(failure),
      refusal: wireSchema(refusal),
    },
  };
}

const texts = z.array(z.string());
const hints = z.array(z.object({ command: z.string(), doc: z.string() }));

const failure = z.looseObject({
  ok: z.literal(false),
  command: z.string(),
  error: z.object({ type: z.string(), message: z.string() }),
  hints,
  warnings: texts,
});

const refusal = z.strictObject({
  ok: z.literal(false),
  command: z.literal("run"),
  error: z.object({ type: z.literal("too-many-runs"), message: z.string() }),
  hints: hints.check(z.minLength(1)),
  warnings: texts.check(z.maxLength(0)),
});
