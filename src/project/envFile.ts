import { parseEnv } from "node:util";
import type { Pipeline } from "../pipeline/pipeline.ts";
import { readProjectFile } from "./projectFile.ts";

/** The variables of the pipeline's `env-file`, or why it can't be read, which is a problem of the file and fails the run. */
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
  const read = readProjectFile(root, envFile, largestEnvFile);
  if (read.kind === "read") {
    return read.isWhole
      ? { kind: "read", variables: parseEnv(read.text) }
      : unreadable(`is larger than ${largestEnvFile / 1024} KiB, the most that is read`);
  }
  if (!read.isMissing) return unreadable(`can't be read: ${read.problem}`);
  return unreadable(
    isSnapshot
      ? "didn't come with the project's files: those that git ignores stay on the machine of the start. Set its variables in the runner's environment, and remove `env-file` from the pipeline"
      : `isn't in the project's folder, ${root}: create it there, or set its variables where the run is started and remove \`env-file\` from the pipeline`,
  );
}
