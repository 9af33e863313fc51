import { parentPort } from "node:worker_threads";
import type { RunDefinition } from "../contract/run.ts";
import type { PipelineOrProblems } from "../pipeline/pipeline.ts";
import { parseDefinition } from "./parseDefinition.ts";

// The thread of a `DefinitionParser`. It says that it has been loaded, then answers each definition with JSON.

/** In UTF-16 units. A file may have a long text in many places, by aliases and by parts that are included again and again. */
const longestAnswer = 16 * 1024 * 1024;

function answerTo(definition: RunDefinition): string {
  const parsed = parseDefinition(definition);
  const answer: PipelineOrProblems =
    parsed.kind === "valid" ? { kind: parsed.kind, pipeline: parsed.pipeline } : parsed;
  const text = JSON.stringify(answer);
  if (text.length <= longestAnswer) return text;
  // Parsing a longer answer would keep the server from all else for too long.
  const message = "the pipeline is too long with its parts put in place: make several pipelines of it";
  return JSON.stringify({
    kind: "invalid",
    problems: [{ message, line: 1, column: 1 }],
  } satisfies PipelineOrProblems);
}

parentPort?.on("message", (definition: RunDefinition) => parentPort?.postMessage(answerTo(definition)));
parentPort?.postMessage("ready");
