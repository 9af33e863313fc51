import * as z from "zod/mini";
import { type JsonSchema, wireSchema } from "../../service/http/openApiDocument.ts";
import { outputs } from "./outputs.ts";

/** The version of the shapes that `--json` prints. They only grow, so it changes when one had to lose something. */
const version = 2;

/**
 * The JSON Schema of what each command prints with `--json`, by the command's words, and under `failure` and `refusal`
 * what it prints when it went wrong. `failure` may hold facts of the command as well.
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
