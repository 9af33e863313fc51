import { lstat, mkdir } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";
import { readArtifact } from "../../client/service/readArtifact.ts";
import { describeError, PipelineError } from "../../contract/errors.ts";
import type { Artifact, Run } from "../../contract/run.ts";
import { replaceFile } from "../../machine/privateFile.ts";
import { nearestName, quoted } from "../../pipeline/mistakes/problem.ts";
import { codeOf } from "../../project/systemErrors.ts";
import { asFileName } from "../../text/controlCharacters.ts";
import { firstNames } from "../../text/counted.ts";
import type { Tool } from "../tool.ts";
import { namedOrLatest, stepsOf } from "./showRun.ts";

interface DownloadOptions {
  readonly step?: string;
  readonly to?: string;
  readonly overwrite?: boolean;
}

/**
 * `pipeline runs download [id] [name]`: saves the files that a run's steps kept, of the caller's newest run by default.
 * @throws PipelineError `not-found` if there are none, or none of that name; `conflict`, before anything is written, if a file
 * exists already; as `ServiceClient.run` and `readArtifact`.
 */
export async function downloadFiles(
  tool: Tool,
  { step, to, overwrite }: DownloadOptions,
  named?: string,
  name?: string,
): Promise<void> {
  const { output, interrupted } = tool;
  const client = await tool.connect();
  const run = await client.run(await namedOrLatest(client, named, interrupted), interrupted);
  const folder = resolve(tool.folder, to ?? (asFileName(run.runId) || "run"));
  const steps = stepsOf(client, run.runId, interrupted);
  if (step !== undefined) await steps.require(step);
  const artifacts = await steps.select(run.artifacts ?? [], step);
  const files = placed(wanted({ ...run, artifacts }, name, step), folder);
  for (const { path } of files) await refuseTaken(folder, path, overwrite);
  for (const { file, path } of files) {
    const content = await readArtifact(client, run.runId, file, interrupted);
    try {
      await mkdir(dirname(path), { recursive: true });
      await replaceFile(path, content);
    } catch (cause) {
      const why = codeOf(cause) ?? describeError(cause);
      throw new PipelineError("usage", `${path} can't be written: ${why}.`, { cause, next: otherFolder });
    }
    output.line(relative(tool.folder, path));
  }
  output.result("runs download", { runId: run.runId, folder, files }, "");
}

const otherFolder = "Name another folder with --to.";

/** @throws PipelineError `not-found`. */
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

/** Where each file goes. Its name comes from elsewhere and may have folders; files of one name get distinct paths. */
function placed(artifacts: readonly Artifact[], folder: string) {
  const taken: (readonly string[])[] = [];
  return artifacts.map((artifact) => {
    const path = safePath(artifact.name);
    let own = path;
    for (let count = 2; taken.some((other) => areAlike(own, other)); count += 1) {
      own = path.with(0, `${count}-${path[0]}`);
    }
    taken.push(own);
    return { ...artifact, path: join(folder, ...own) };
  });
}

/** Makes a name safe on every system, changing as little as possible. */
function safePath(name: string): readonly string[] {
  const pieces = name.split(/[/\\]/).flatMap((piece) => asFileName(piece, longestPiece) || []);
  // Windows treats these names as devices, whatever their extension.
  const safe = pieces.map((piece) =>
    /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i.test(piece) ? `_${piece}` : piece,
  );
  return safe.length === 0 || safe.length > mostPieces ? [safe.at(-1) ?? "file"] : safe;
}

const longestPiece = 200;
const mostPieces = 20;

/** Whether two paths are the same on a case-insensitive system, or one is a folder of the other. */
function areAlike(one: readonly string[], other: readonly string[]): boolean {
  const length = Math.min(one.length, other.length);
  const text = (pieces: readonly string[]) => pieces.slice(0, length).join("/").normalize().toLowerCase();
  return text(one) === text(other);
}

/**
 * Keeps anything from being saved outside the folder through a link in it, or over an existing file.
 * @throws PipelineError `conflict`.
 */
async function refuseTaken(folder: string, path: string, overwrite = false): Promise<void> {
  for (let above = dirname(path); above !== folder; above = dirname(above)) {
    if ((await lstat(above).catch(() => undefined))?.isSymbolicLink() !== true) continue;
    const message = `${above} is a link to elsewhere, so nothing was saved.`;
    throw new PipelineError("conflict", message, { next: otherFolder });
  }
  if (overwrite || (await lstat(path).catch(() => undefined)) === undefined) return;
  throw new PipelineError("conflict", `${path} is there already, so nothing was saved.`, {
    next: "Name another folder with --to, or replace what is there with --overwrite.",
  });
}
