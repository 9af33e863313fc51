import { constants } from "node:fs";
import { glob, open, realpath } from "node:fs/promises";
import { basename, extname, relative, resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { describeError } from "../../contract/errors.ts";
import { largestArtifact } from "../../contract/limits.ts";
import { isInside } from "../../project/projectFile.ts";
import { duration } from "../../text/time.ts";
import { maskedBytes } from "../mask/mask.ts";
import { problemOfSize } from "../step/runOutput.ts";
import type { NewArtifact, StepContext } from "../step/stepContext.ts";

/** How many files of a step are kept, and how many are looked at. */
const most = { kept: 100, found: 1000 } as const;
/** The most time for one pattern: a link may lead to the whole disk. */
const lookMilliseconds = 10_000;

type KeepDeps = Pick<StepContext, "root" | "mask" | "log" | "saveArtifact">;

/**
 * Saves the files that a step's program has left as artifacts, named by their paths in the project's folder. The step's log says
 * what can't be kept.
 * @param folder in which the patterns are looked for.
 */
export async function keepFiles(patterns: readonly string[], folder: string, deps: KeepDeps): Promise<void> {
  const { log, saveArtifact, root } = deps;
  const found = new Set<string>();
  for (const pattern of patterns) {
    const paths = await filesOf(pattern, folder, deps);
    if (paths.length === 0) log.note(`there is nothing to keep at ${pattern}`);
    for (const path of paths) found.add(path);
  }
  let kept = 0;
  for (const path of [...found].sort()) {
    if (kept === most.kept) {
      log.note(`no more files are kept: ${most.kept} of a step are the most`);
      return;
    }
    const name = relative(root, resolve(folder, path)).replaceAll("\\", "/");
    try {
      const file = await readFile(path, folder, deps);
      if (file === undefined) {
        if (patterns.includes(path)) log.note(`${name} is a folder: \`${path}/**\` keeps what is in it`);
        continue;
      }
      kept += 1;
      saveArtifact({ name, ...file });
    } catch (error) {
      log.note(`${name} isn't kept: ${describeError(error)}`);
    }
  }
}

/** The paths that match, except those that lead out of the project's folder. */
async function filesOf(pattern: string, folder: string, { log, root }: KeepDeps): Promise<string[]> {
  const paths: string[] = [];
  const walk = glob(pattern, { cwd: folder, exclude: (path) => isLeftOut(basename(path), pattern) });
  const late = pause(lookMilliseconds, undefined, { ref: false });
  for (;;) {
    const next = await Promise.race([walk.next(), late]);
    if (next === undefined) {
      log.note(`${pattern} was looked for no longer than ${duration(lookMilliseconds)}`);
      return paths;
    }
    if (next.done === true) return paths;
    if (isInside(root, resolve(folder, next.value))) paths.push(next.value);
    if (paths.length === most.found) return paths;
  }
}

/** Large folders that nobody means by `**`. */
function isLeftOut(name: string, pattern: string): boolean {
  return (name === "node_modules" || name === ".git") && !pattern.includes(name);
}

/** @returns undefined for a folder. @throws Error that says why a file can't be kept. */
async function readFile(
  path: string,
  folder: string,
  { root, mask }: KeepDeps,
): Promise<Pick<NewArtifact, "mediaType" | "content"> | undefined> {
  const [real, realRoot] = await Promise.all([realpath(resolve(folder, path)), realpath(root)]);
  if (!isInside(realRoot, real)) throw new Error("it leads out of the project's folder");
  // Opening a named pipe would block, and a link may have been put there meanwhile.
  const { O_RDONLY, O_NONBLOCK = 0, O_NOFOLLOW = 0 } = constants;
  await using file = await open(real, O_RDONLY | O_NONBLOCK | O_NOFOLLOW);
  const stat = await file.stat();
  if (stat.isDirectory()) return undefined;
  const problem = stat.isFile() ? problemOfSize(stat.size) : "it is no plain file";
  if (problem !== undefined) throw new Error(problem);
  // The file may grow meanwhile.
  const bytes = Buffer.alloc(Math.min(stat.size, largestArtifact));
  const { bytesRead } = await file.read(bytes, 0, bytes.length, 0);
  const { isText, content } = maskedBytes(bytes.subarray(0, bytesRead), mask);
  const type = types[extname(path).toLowerCase()];
  if (!isText) return { mediaType: type ?? "application/octet-stream", content };
  return { mediaType: type === "application/json" ? type : "text/plain", content };
}

/** The images that a browser shows, and JSON. */
const types: Readonly<Record<string, string>> = {
  ".png": "image/png",
  ".jpg": "image/jpeg",
  ".jpeg": "image/jpeg",
  ".json": "application/json",
};
