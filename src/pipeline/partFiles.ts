import type { YamlSource } from "./file/yamlSource.ts";
import { quoted } from "./mistakes/problem.ts";
import type { ParsedPipeline } from "./pipeline.ts";

/** The text of a file of the project by its path, or why it can't be read. Undefined where the project's files aren't known. */
export type ReadPart = (
  path: string,
) =>
  | { readonly kind: "read"; readonly text: string }
  | { readonly kind: "unreadable"; readonly problem: string }
  | undefined;

export type PartFile =
  | {
      readonly kind: "file";
      readonly source: YamlSource;
      readonly parsed: Extract<ParsedPipeline, { readonly kind: "valid" }>;
    }
  | { readonly kind: "unusable"; readonly problem: string }
  | { readonly kind: "unknown" };

export interface ParsedFile {
  readonly parsed: ParsedPipeline;
  /** Undefined for a text that is no YAML. */
  readonly source: YamlSource | undefined;
}

type ParseFile = (text: string, path: string, files: PartFiles) => ParsedFile;

/** The files that a pipeline file includes, and those that these include: each is read and checked once, on its own. */
export interface PartFiles {
  /** @param path relative to the project's folder. */
  file(path: string): PartFile;
  /** Whether the project has a file at a path in its folder. */
  readonly isThere: (path: string) => boolean;
  /** The texts that were read, by their paths. */
  readonly texts: Map<string, string>;
}

export function partFiles(read: ReadPart, parse: ParseFile, isThere: PartFiles["isThere"]): PartFiles {
  const files = new Map<string, PartFile>();
  const parts: PartFiles = {
    isThere,
    texts: new Map(),
    file(path) {
      const known = files.get(path);
      if (known !== undefined) return known;
      // Whoever asks again before it has been read is included by it.
      files.set(path, { kind: "unusable", problem: `\`${quoted(path)}\` includes itself` });
      const file = fileOf(path, read, parse, parts);
      files.set(path, file);
      return file;
    },
  };
  return parts;
}

function fileOf(path: string, readPart: ReadPart, parse: ParseFile, parts: PartFiles): PartFile {
  const read = readPart(path);
  if (read === undefined) return { kind: "unknown" };
  if (read.kind === "unreadable")
    return {
      kind: "unusable",
      problem: `\`${quoted(path)}\` can't be read: ${read.problem}${beside(path, readPart, parts)}`,
    };
  parts.texts.set(path, read.text);
  const { parsed, source } = parse(read.text, path, parts);
  if (parsed.kind === "valid" && source !== undefined) return { kind: "file", source, parsed };
  const problems = parsed.kind === "invalid" ? parsed.problems : [];
  const [first] = problems;
  const where = first === undefined ? "" : `: line ${first.line}, column ${first.column}: ${first.message}`;
  const more = problems.length > 1 ? `; and ${problems.length - 1} more` : "";
  return { kind: "unusable", problem: `\`${quoted(path)}\` can't be run${where}${more}` };
}

/** A hint at the file that is meant by a path relative to an including file's folder; empty if there is none. */
function beside(path: string, read: ReadPart, { texts }: PartFiles): string {
  const folders = ["pipelines/", ...[...texts.keys()].map((part) => part.replace(/[^/]*$/, ""))];
  const meant = folders.map((folder) => folder + path).find((file) => read(file)?.kind === "read");
  return meant === undefined ? "" : `; from the project's folder it is \`${quoted(meant)}\``;
}
