import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { Problem } from "../problem.ts";
import { projectRoot } from "../projectRoot.ts";
import type { Say } from "../say.ts";
import { FileLock } from "./fileLock.ts";
import { npmCommand, withoutScriptVariables } from "./npm.ts";
import { runProgram } from "./program.ts";

/** Packages that only some scripts and tests need, and that are too large to be a part of the project's own install. */
interface OnDemand {
  /** As people call it: `VS Code`. */
  readonly name: string;
  /** For people: `about 300 MB`. */
  readonly size: string;
  /** Holds the package.json and the lock file. */
  readonly folder: string;
  /** What is left to do after npm, whose scripts of the packages are not run. */
  readonly finish: () => Promise<void>;
}

/**
 * Installs packages unless they are there already, as their lock file has them. Safe to be called by several programs.
 * @throws Problem when npm can't install them.
 */
export async function installOnDemand(packages: OnDemand, say: Say, signal: AbortSignal): Promise<void> {
  const { finish, folder, name, size } = packages;
  const stampFile = join(folder, "node_modules/.complete");
  const stamp = () => readFile(stampFile, "utf8").catch(() => undefined);
  const wanted = await fingerprint(folder);
  if ((await stamp()) === wanted) return;
  const lockFile = relative(projectRoot, folder).replace(/\W+/g, "-");
  using _lock = await FileLock.take(
    join(projectRoot, "node_modules/.cache/pipeline-runs", `${lockFile}.lock`),
    () => say(`Another install of ${name} is under way…`),
    signal,
  );
  if ((await stamp()) === wanted) return;
  say(`Installing ${name} from npm, once, ${size}…`);
  await installPackages(packages, signal);
  await finish();
  await writeFile(stampFile, wanted);
}

async function installPackages({ folder, name }: OnDemand, signal: AbortSignal): Promise<void> {
  const [npm, ...leading] = npmCommand(process.env);
  const { exitCode, output } = await runProgram(
    npm,
    // The packages' own scripts would look for a compiler; nothing of what they build is needed here.
    [...leading, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"],
    { cwd: folder, env: withoutScriptVariables(process.env) },
    signal,
  );
  if (exitCode !== 0) throw installProblem(name, folder, output);
}

function installProblem(name: string, folder: string, output: string): Problem {
  if (/ENOSPC|no space left/i.test(output)) {
    return new Problem(`The disk is full: ${name} could not be installed.`, "Free 1 GB, then do this again.");
  }
  const reason =
    /npm error (?!(?:code|errno|syscall|path|dest|address|port) )(\S.+)/.exec(output)?.[1] ??
    output.trim().split("\n").at(-1) ??
    "no output";
  return new Problem(
    `npm could not install ${name}: ${reason.trim().replace(/\.$/, "")}.`,
    `Check the network, run "npm ci" in ${relative(projectRoot, folder)} to see it all, then do this again.`,
  );
}

async function fingerprint(folder: string): Promise<string> {
  const hash = createHash("sha256").update(`${process.platform} ${process.arch}\n`);
  for (const file of ["package.json", "package-lock.json"]) hash.update(await readFile(join(folder, file)));
  return hash.digest("hex");
}
