import type { RunDefinition } from "../contract/run.ts";
import { parsePipeline } from "../pipeline/parsePipeline.ts";
import type { ParsedPipeline } from "../pipeline/pipeline.ts";

/** Parses a pipeline file with the parts that came with it: there is no folder to look for others in. */
export function parseDefinition({
  path,
  text,
  parts = {},
}: Pick<RunDefinition, "path" | "text" | "parts">): ParsedPipeline {
  return parsePipeline(text, path, (part) => {
    const found = Object.hasOwn(parts, part) ? parts[part] : undefined;
    return found === undefined
      ? { kind: "unreadable", problem: "it didn't come with the start" }
      : { kind: "read", text: found };
  });
}
