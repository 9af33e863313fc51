import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { quoted } from "../../pipeline/parse/messageText.ts";
import type { ParsedPipeline } from "../../pipeline/parse/parsePipeline.ts";
import { type ReadPipeline, readPipelineFile } from "./readPipelineFile.ts";

/** A pipeline file of a project. */
export interface ProjectFile extends ReadPipeline {
  /** Under the project's root, with forward slashes, as people are shown it. */
  readonly path: string;
  /** The pipeline's name; of a broken file, the file's own. */
  readonly name: string;
}

/** Every pipeline file of a project, in the order of the files' names. @returns none when the folder is gone. */
export async function projectFiles(
  root: string,
  parse?: (text: string, path: string) => ParsedPipeline,
): Promise<ProjectFile[]> {
  const folder = join(root, "pipelines");
  const names = (await readdir(folder).catch(() => [])).filter((name) => name.endsWith(".yaml")).sort();
  return Promise.all(
    names.map(async (fileName) => {
      const read = await readPipelineFile(join(folder, fileName), parse);
      const { parsed } = read;
      const name = parsed.kind === "valid" ? parsed.pipeline.name : fileName.slice(0, -".yaml".length);
      return { ...read, path: `pipelines/${fileName}`, name };
    }),
  );
}

/**
 * The files' problems, among them that several files of the project have one name: nobody could say which of them is
 * to be run.
 */
export function withSharedNames(files: readonly ProjectFile[]): ProjectFile[] {
  return files.map((file) => {
    if (file.parsed.kind === "invalid") return file;
    const others = files.filter((other) => other.name === file.name && other !== file);
    if (others.length === 0) return file;
    const where = others.map(({ path }) => quoted(path)).join(", ");
    const problem = {
      message: `another file has the name \`${quoted(file.name)}\` as well (${where}); give each a name of its own`,
      ...file.parsed.nameAt,
    };
    return { ...file, parsed: { kind: "invalid", problems: [problem] } };
  });
}

/** The types of what a pipeline's steps use, each once. @returns none for a broken file. */
export function resourceTypes({ parsed }: ReadPipeline): string[] {
  return parsed.kind === "valid" ? [...new Set(parsed.pipeline.steps.map((step) => step.type))].sort() : [];
}
