import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { type Commit, commitSchema } from "../contract/changes.ts";
import { type Environment, withoutStarter } from "./environment.ts";

/** How long git may take, in milliseconds: a run waits for it. */
const patienceMilliseconds = 1_000;

/** Git's options with which it writes nothing to the repository, and starts no program of its settings that watches its files. */
export const unwatched = ["--no-optional-locks", "-c", "core.fsmonitor=false"] as const;

/** The commit that a folder is at. Never throws: undefined without git, a repository or a commit, and where git takes too long. */
export async function readCommit(
  folder: string,
  environment: Environment,
  signal: AbortSignal,
): Promise<Commit | undefined> {
  try {
    const { stdout } = await promisify(execFile)(
      "git",
      // No file that the repository lacks is fetched to look whether one was renamed.
      [...unwatched, "-C", folder, "status", "--porcelain=v2", "--branch", "--no-renames"],
      {
        // A hook's variables are about the repository that it is of.
        env: withoutStarter(environment),
        signal,
        timeout: patienceMilliseconds,
        maxBuffer: 64 * 1024 * 1024,
        windowsHide: true,
      },
    );
    const [, id] = /^# branch\.oid (.*)$/m.exec(stdout) ?? [];
    const [, branch] = /^# branch\.head (?!\(detached\)$)(.*)$/m.exec(stdout) ?? [];
    return commitSchema.parse({ id, ...(branch && { branch }), changed: /^[^#\n]/m.test(stdout) });
  } catch {
    return undefined;
  }
}
