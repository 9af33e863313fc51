import { existsSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { largestFile } from "../contract/limits.ts";
import { parsePipeline } from "../pipeline/parsePipeline.ts";
import type { ReadPart } from "../pipeline/partFiles.ts";
import type { ParsedPipeline } from "../pipeline/pipeline.ts";
import { readProjectFile } from "./projectFile.ts";

/** Enough of a longer text for the parser to reject it as too long: at most three bytes a character. */
export const mostBytesRead = 3 * largestFile + 1;

/** Parses a pipeline file with the parts that it includes, which are read now. @param path absolute. */
export function parseWithParts(text: string, path: string): ParsedPipeline {
  let found: string | undefined;
  const root = () => (found ??= projectAround(path));
  return parsePipeline(
    text,
    path,
    (part) => readPart(root(), part),
    (file) => existsSync(join(root(), file)),
  );
}

/** Whether a text may include others, so that what it means depends on more than itself. */
export function mayInclude(text: string): boolean {
  return /\binclude\b/.test(text);
}

/** The nearest folder above a file that holds a folder `pipelines`; without one, that of the file. */
function projectAround(path: string): string {
  for (let folder = dirname(path); ; folder = dirname(folder)) {
    if (statSync(join(folder, "pipelines"), { throwIfNoEntry: false })?.isDirectory() === true) return folder;
    if (folder === dirname(folder)) return dirname(path);
  }
}

/** Reads a file that may be a part. @param path relative to the project's folder. */
export function readPart(root: string, path: string): ReturnType<ReadPart> {
  return readProjectFile(root, path, mostBytesRead);
}
