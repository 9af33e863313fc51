import { hash } from "node:crypto";
import { lstat } from "node:fs/promises";
import { join } from "node:path";
import { create } from "tar";
import { PipelineError } from "../../contract/errors.ts";
import type { RunDefinition, StartRequest } from "../../contract/run.ts";
import { largestSnapshot } from "../../contract/service.ts";
import { readCommit, runGit } from "../../project/commit.ts";
import { filesNamed } from "../../project/pipelineFiles.ts";
import type { ServiceClient } from "../service/client.ts";

type SnapshotClient = Pick<ServiceClient, "hasSnapshot" | "putSnapshot">;

/**
 * Adds to a start request what a service that runs pipelines on other machines needs: the pipeline file, and the digest of the
 * project's files, which are sent first.
 * @param root the project's folder here.
 * @throws PipelineError `invalid-request` if the project's files can't be sent, saying what to do.
 */
export async function withDefinition(
  request: StartRequest,
  client: SnapshotClient,
  root: string,
  signal: AbortSignal,
): Promise<StartRequest> {
  const [file] = await filesNamed(root, request.pipeline);
  if (file?.text === undefined) {
    throw new PipelineError("not-found", `There is no pipeline \`${request.pipeline}\` in ${root}.`, {
      next: "`pipeline pipelines` lists those that there are.",
    });
  }
  const snapshot = await sendSnapshot(client, root, signal);
  const parts = file.parsed.kind === "valid" ? Object.fromEntries(file.parsed.parts) : {};
  const commit = await readCommit(root, process.env, signal);
  const definition: RunDefinition = {
    path: file.path,
    text: file.text,
    ...(Object.keys(parts).length === 0 ? {} : { parts }),
    ...(snapshot && { snapshot }),
    ...(commit && { commit }),
  };
  return { ...request, definition };
}

/** Sends the project's files unless the service has them already. @returns their digest; undefined if git knows of no files. */
async function sendSnapshot(
  client: SnapshotClient,
  root: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const files = await filesOf(root, signal);
  if (files.length === 0) return undefined;
  const content = await pack(root, files);
  const digest = hash("sha256", content);
  if (!(await client.hasSnapshot(digest, signal))) await client.putSnapshot(digest, content, signal);
  return digest;
}

/** The files of the folder that git tracks, and new ones that it doesn't ignore. Links are left out. */
async function filesOf(root: string, signal: AbortSignal): Promise<string[]> {
  // Disables any file-watching program that the repository's settings name.
  const quiet = ["-c", "core.fsmonitor=false"];
  const list = ["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate"];
  const { stdout } = await runGit(root, [...quiet, ...list], process.env, { signal }).catch((cause) => {
    signal.throwIfAborted();
    const { why, next } = gitRefusal(cause);
    throw new PipelineError("invalid-request", `The files of ${root} can't be listed by git${why}.`, {
      cause,
      next: `The service runs pipelines on other machines, and is sent the files that git knows: ${next}.`,
    });
  });
  const names = stdout
    .split("\0")
    .filter((name) => name !== "")
    .sort();
  const files: string[] = [];
  let bytes = 0;
  for (const name of names) {
    // Skipped: a deleted file that git still tracks, a link, or a submodule's folder.
    const stats = await lstat(join(root, name)).catch(() => undefined);
    if (stats?.isFile() !== true) continue;
    bytes += stats.size;
    if (bytes > mostBytes) throw tooLarge(root, `more than ${mostBytes / mebibyte} MiB`);
    files.push(name);
  }
  return files;
}

/** Why git listed no files, as a clause, and what to do about it. */
function gitRefusal(error: { readonly code?: unknown; readonly stderr?: unknown }) {
  // Git translates its messages, but not the command that it suggests.
  const [, command] = /(git config --global --add safe\.directory .+)/.exec(String(error.stderr)) ?? [];
  if (command !== undefined)
    return {
      why: ": the folder belongs to another user",
      next: `if you trust it, call \`${command}\``,
    };
  if (error.code === "ENOENT") return { why: ", which isn't there", next: "install git" };
  return { why: "", next: "make the folder a repository with `git init`" };
}

const mebibyte = 1024 * 1024;
/** The most bytes of the files before they are compressed. */
const mostBytes = 512 * mebibyte;

/** The files as a gzipped tar that is identical for identical files, whenever and wherever it is made. */
async function pack(root: string, files: readonly string[]): Promise<Uint8Array<ArrayBuffer>> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  // A name that begins with `@` would mean an archive.
  const names = files.map((name) => `./${name}`);
  for await (const piece of create(
    { cwd: root, gzip: true, portable: true, noMtime: true, noDirRecurse: true },
    names,
  )) {
    pieces.push(piece);
    bytes += piece.length;
    if (bytes > largestSnapshot)
      throw tooLarge(root, `more than ${largestSnapshot / mebibyte} MiB, compressed`);
  }
  return new Uint8Array(Buffer.concat(pieces));
}

function tooLarge(root: string, size: string): PipelineError {
  return new PipelineError("invalid-request", `The files of ${root} that git knows are ${size}.`, {
    next: "Name the large ones in .gitignore, or start the pipeline in a smaller folder.",
  });
}
