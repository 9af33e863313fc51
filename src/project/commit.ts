import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { realpath } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { longestBranch } from "../contract/limits.ts";
import type { Commit } from "../contract/run.ts";
import { type Environment, gitEnvironment } from "./environment.ts";

/** How long git may take, in milliseconds: a run waits for it. */
const patienceMilliseconds = 1_000;

/** The commit that a folder is at. Never throws: undefined without git, a repository or a commit, and where git takes too long. */
export async function readCommit(
  folder: string,
  environment: Environment,
  signal: AbortSignal,
): Promise<Commit | undefined> {
  const limits = { signal, timeout: patienceMilliseconds };
  const git: Git = (words) => runGit(folder, words, environment, limits);
  try {
    // Checked without git, for which a run's first line would have to wait.
    if (!isInRepository(await realpath(folder).catch(() => folder))) return undefined;
    const look = ["status", "--porcelain=v2", "--branch", "--no-renames", "--ignore-submodules=dirty"];
    const { stdout } = await git([...withoutPrograms(await filtersOf(git)), ...look]);
    const [, id] = /^# branch\.oid ([0-9a-f]{40,64})$/m.exec(stdout) ?? [];
    const [, branch] = /^# branch\.head (?!\(detached\)$)(.*)$/m.exec(stdout) ?? [];
    if (id === undefined || (branch?.length ?? 0) > longestBranch) return undefined;
    return { id, ...(branch && { branch }), changed: /^[^#\n]/m.test(stdout) };
  } catch {
    return undefined;
  }
}

/** Whether this folder or one above it has a `.git`, which in a worktree or a submodule is a file. */
function isInRepository(folder: string): boolean {
  const above = dirname(folder);
  return existsSync(join(folder, ".git")) || (above !== folder && isInRepository(above));
}

/**
 * Runs git in a folder, which is named by -C and isn't the working folder: where the PATH includes the working folder, as on
 * Windows, a program of the repository that is called git would run instead.
 * @throws the program's error.
 */
export async function runGit(
  folder: string,
  words: readonly string[],
  environment: Environment,
  limits: { readonly signal: AbortSignal; readonly timeout?: number },
): Promise<{ readonly stdout: string }> {
  return promisify(execFile)("git", ["--no-optional-locks", "-C", folder, ...words], {
    ...limits,
    env: gitEnvironment(environment),
    maxBuffer: 64 * 1024 * 1024,
    windowsHide: true,
  });
}

type Git = (words: readonly string[]) => Promise<{ readonly stdout: string }>;

/** The settings of git's filters, which are programs: `filter.<name>.clean` and the like. */
async function filtersOf(git: Git): Promise<readonly string[]> {
  const { stdout } = await git(["config", "-z", "--name-only", "--get-regexp", "^filter\\."]).catch(
    (error: { readonly code?: unknown }) => {
      if (error.code === 1) return { stdout: "" };
      throw error;
    },
  );
  return stdout.split("\0").filter((name) => name !== "");
}

/**
 * The options by which git runs no program that the settings name, not even the person's own filters, which may run commands
 * from the repository. A filtered file counts as changed where git would have to read it.
 * @throws Error for a filter that an option can't name.
 */
function withoutPrograms(filters: readonly string[]): string[] {
  const names = [...new Set(filters.map((name) => name.slice(0, name.lastIndexOf("."))))];
  if (names.some((name) => name.includes("="))) throw new Error("a filter's name has an equals sign");
  const off = names.flatMap((name) => [`${name}.clean=`, `${name}.process=`, `${name}.required=false`]);
  return ["core.fsmonitor=false", ...off].flatMap((setting) => ["-c", setting]);
}
