import { readFile, realpath, stat } from "node:fs/promises";
import { isAbsolute, join, relative, sep } from "node:path";
import { parseEnv } from "node:util";
import { describeError } from "../contract/errors.ts";
import type { Pipeline } from "../pipeline/pipeline.ts";
import { isMissing } from "./systemErrors.ts";
import { readUtf8 } from "./utf8.ts";

/** The variables of the pipeline's `env-file`, or why it can't be read: a problem of its file, or the reason of the run's failure. */
type ReadVariables =
  | { readonly kind: "read"; readonly variables: Readonly<Record<string, string | undefined>> }
  | { readonly kind: "unreadable"; readonly message: string };

/** In bytes. */
const largestEnvFile = 64 * 1024;

interface EnvFileOf {
  /** The project's folder. */
  readonly root: string;
  readonly pipeline: Pick<Pipeline, "envFile">;
  /** Whether the folder holds only what came with a start. */
  readonly isSnapshot?: boolean | undefined;
}

/** Reads the pipeline's `env-file`; without one there are no variables. Never throws. */
export async function readEnvFile({
  root,
  pipeline: { envFile },
  isSnapshot = false,
}: EnvFileOf): Promise<ReadVariables> {
  if (envFile === undefined) return { kind: "read", variables: {} };
  const unreadable = (problem: string): ReadVariables => ({
    kind: "unreadable",
    message: `the pipeline's env-file, \`${envFile}\`, ${problem}`,
  });
  try {
    const [folder, file] = await Promise.all([realpath(root), realpath(join(root, envFile))]);
    if (!isInside(folder, file))
      return unreadable("leads out of the project's folder: put the file itself there");
    const found = await stat(file);
    if (!found.isFile()) return unreadable("is no plain file");
    if (found.size > largestEnvFile) {
      return unreadable(`is larger than ${largestEnvFile / 1024} KiB, the most that is read`);
    }
    const read = readUtf8(await readFile(file));
    if (read.kind === "other") return unreadable(`can't be read: line ${read.line}: ${read.problem}`);
    return { kind: "read", variables: parseEnv(read.text.replace(/^\uFEFF/, "")) };
  } catch (error) {
    if (!isMissing(error)) return unreadable(`can't be read: ${describeError(error)}`);
    return unreadable(
      isSnapshot
        ? "didn't come with the project's files: those that git ignores stay on the machine of the start. Set its variables in the runner's environment, and remove `env-file` from the pipeline"
        : `isn't in the project's folder, ${root}: create it there, or set its variables where the run is started and remove \`env-file\` from the pipeline`,
    );
  }
}

/** Whether a path is in a folder; both are absolute and without links. */
export function isInside(folder: string, file: string): boolean {
  const way = relative(folder, file);
  return way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}
