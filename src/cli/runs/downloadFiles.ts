import { lstat, mkdir } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";
import { readArtifact } from "../../client/service/readArtifact.ts";
import { describeError, exitCodes, PipelineError } from "../../contract/errors.ts";
import type { Artifact, Run } from "../../contract/run.ts";
import { replaceFile } from "../../machine/privateFile.ts";
import { nearestName, quoted } from "../../pipeline/mistakes/problem.ts";
import { codeOf } from "../../project/systemErrors.ts";
import { asFileName } from "../../text/controlCharacters.ts";
import { firstNames } from "../../text/counted.ts";
import type { Tool } from "../tool.ts";
import { namedOrLatest } from "./showRun.ts";
import { Steps } from "./steps.ts";

interface DownloadOptions {
  /** Only the files of this step, by its name, number or id. */
  readonly step?: string;
  /** The folder; by default one in the working folder that is named after the run. */
  readonly to?: string;
  readonly overwrite?: boolean;
}

/**
 * `pipeline runs download [id] [name]`: saves the files that a run's steps kept, of the caller's newest run by default.
 * @throws PipelineError `not-found` when there are none, or none of the name; `conflict` where files are there already, before
 *   anything is written; as `ServiceClient.run` and `readArtifact`.
 */
export async function downloadFiles(
  tool: Tool,
  { step, to, overwrite }: DownloadOptions,
  named?: string,
  name?: string,
): Promise<number> {
  const { output, interrupted } = tool;
  const client = await tool.connect();
  const run = await client.run(await namedOrLatest(client, named, interrupted), interrupted);
  const folder = resolve(tool.folder, to ?? (asFileName(run.runId) || "run"));
  const steps = new Steps(client, run.runId, interrupted);
  if (step !== undefined) await steps.require(step);
  const artifacts = await steps.select(run.artifacts ?? [], step);
  const files = placed(wanted({ ...run, artifacts }, name, step)).map(({ artifact, path }) => ({
    artifact,
    path: join(folder, path),
  }));
  await refuseLinks(
    folder,
    files.map(({ path }) => path),
  );
  if (!overwrite) await refuseExisting(files.map(({ path }) => path));
  for (const { artifact, path } of files) {
    const content = await readArtifact(client, run.runId, artifact.file, interrupted);
    try {
      await mkdir(dirname(path), { recursive: true });
      await replaceFile(path, content);
    } catch (cause) {
      throw new PipelineError(
        "usage",
        `${path} can't be written: ${codeOf(cause) ?? describeError(cause)}.`,
        {
          cause,
          next: "Name another folder with --to.",
        },
      );
    }
    output.line(relative(tool.folder, path));
  }
  const saved = files.map(({ artifact, path }) => ({ ...artifact, path }));
  output.result("runs download", { runId: run.runId, folder, files: saved }, "");
  return exitCodes.done;
}

/** @throws PipelineError `not-found` */
function wanted(
  { runId, artifacts = [] }: Run,
  name: string | undefined,
  step: string | undefined,
): readonly Artifact[] {
  const found = artifacts.filter((artifact) => name === undefined || artifact.name === name);
  if (found.length > 0) return found;
  const who = step === undefined ? `The run ${runId}` : `The step \`${quoted(step)}\` of the run ${runId}`;
  if (name === undefined || artifacts.length === 0) {
    throw new PipelineError("not-found", `${who} kept no files.`, {
      next: "A browser step keeps a screenshot, an http step its reply, and a cli step what its `keep` names.",
    });
  }
  const names = [...new Set(artifacts.map((artifact) => artifact.name))];
  const near = nearestName(name, names);
  throw new PipelineError("not-found", `${who} kept no file \`${quoted(name)}\`.`, {
    next: near === undefined ? `It kept ${firstNames(names)}.` : `Did you mean \`${near}\`?`,
  });
}

/** Where each file goes within the folder: its name may have folders, and comes from elsewhere. Of several with one name each has its own. */
function placed(artifacts: readonly Artifact[]) {
  const taken: (readonly string[])[] = [];
  return artifacts.map((artifact) => {
    const path = safePath(artifact.name);
    let own = path;
    for (let count = 2; taken.some((other) => areAlike(own, other)); count += 1) {
      own = path.with(0, `${count}-${path[0]}`);
    }
    taken.push(own);
    return { artifact, path: join(...own) };
  });
}

/** The least that a name needs, on any system. */
function safePath(name: string): readonly string[] {
  const pieces = name.split(/[/\\]/).flatMap((piece) => asFileName(piece, longestPiece) || []);
  // Windows takes them for devices, whatever their extension.
  const safe = pieces.map((piece) =>
    /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i.test(piece) ? `_${piece}` : piece,
  );
  return safe.length === 0 || safe.length > mostPieces ? [safe.at(-1) ?? "file"] : safe;
}

const longestPiece = 200;
const mostPieces = 20;

/** Whether they are the same on a system that takes no notice of case, or one is a folder of the other. */
function areAlike(one: readonly string[], other: readonly string[]): boolean {
  const length = Math.min(one.length, other.length);
  const text = (pieces: readonly string[]) => pieces.slice(0, length).join("/").normalize().toLowerCase();
  return text(one) === text(other);
}

/** Nothing is saved outside of the folder by a link in it. @throws PipelineError `conflict` */
async function refuseLinks(folder: string, paths: readonly string[]): Promise<void> {
  for (const path of paths) {
    for (let above = dirname(path); above !== folder; above = dirname(above)) {
      if ((await lstat(above).catch(() => undefined))?.isSymbolicLink() !== true) continue;
      throw new PipelineError("conflict", `${above} is a link to elsewhere, so nothing was saved.`, {
        next: "Name another folder with --to.",
      });
    }
  }
}

/** @throws PipelineError `conflict` */
async function refuseExisting(paths: readonly string[]): Promise<void> {
  for (const path of paths) {
    const found = await lstat(path).catch(() => undefined);
    if (found === undefined) continue;
    throw new PipelineError("conflict", `${path} is there already, so nothing was saved.`, {
      next: "Name another folder with --to, or replace what is there with --overwrite.",
    });
  }
}
