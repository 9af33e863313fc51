import { closeSync, constants, existsSync, fstatSync, openSync, readFileSync, type Stats } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod/mini";
import { PipelineError } from "../contract/errors.ts";
import { readJson } from "../contract/wire.ts";

const connectionSchema = z.object({
  url: z.string().check(z.regex(/^http:\/\/127\.0\.0\.1:[1-9]\d*$/)),
  pid: z.int().check(z.positive()),
  /** The API key of this machine's faces; new at every start of the service. */
  token: z.string().check(z.minLength(1)),
  instance: z.string().check(z.minLength(1)),
  /** The service's version; left out by one that runs from its sources. */
  version: z.optional(z.string()),
  /** Present where a person, or a service manager, has started it and ends it. */
  inForeground: z.optional(z.literal(true)),
});

export type Connection = z.infer<typeof connectionSchema>;

/**
 * The path of the file by which faces find the embedded service: mode 0600, written once the service answers and removed
 * when it stops. After a crash it may be stale, so `instance` is compared with `GET /healthz` before the token is sent.
 */
export function connectionFile(folder: string): string {
  return join(folder, "service.json");
}

/**
 * @returns undefined when the file is missing or invalid, or when another user could have written it.
 */
export async function readConnection(folder: string): Promise<Connection | undefined> {
  try {
    return parseConnection(readOwn(connectionFile(folder)));
  } catch {
    return undefined;
  }
}

/** @returns undefined for an invalid file. */
export function parseConnection(text: string): Connection | undefined {
  const read = readJson(connectionSchema, text);
  return read && URL.canParse(read.url) ? read : undefined;
}

/** Non-blocking, in case of a pipe without a writer. */
const reading = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

/** Synchronous: every command begins with it, and `node:fs/promises` takes longer to load than the file to read. */
function readOwn(path: string): string {
  const file = openSync(path, reading);
  try {
    return isOwn(fstatSync(file)) ? readFileSync(file, "utf8") : "";
  } finally {
    closeSync(file);
  }
}

/**
 * Whether only this user can have written it: faces send their environment to the service that it names. On Windows the
 * profile's access list decides.
 */
function isOwn(facts: Stats): boolean {
  const user = process.getuid?.();
  if (user === undefined) return true;
  return facts.uid === user && facts.isFile() && (facts.mode & 0o022) === 0;
}

/**
 * The file that keeps faces from starting the embedded service by themselves: written when a person stops the service, removed
 * by whoever asks for it again. It has no content.
 */
function stoppedFile(folder: string): string {
  return join(folder, "service.stopped");
}

/** Whether a person has stopped the service of this folder, and nobody has started it since. */
export function isStopped(folder: string): boolean {
  return existsSync(stoppedFile(folder));
}

/** @throws the file system's error. */
export async function setStopped(folder: string, stopped: boolean): Promise<void> {
  if (stopped) await writeFile(stoppedFile(folder), "", { mode: 0o600 });
  else await rm(stoppedFile(folder), { force: true });
}

/** Why the embedded service isn't started: a person has stopped it. No retry helps. */
export class ServiceStopped extends PipelineError {
  constructor() {
    super("out-of-reach", "This machine's own service was stopped.", {
      next: "`pipeline run` and `pipeline service restart` start it again.",
    });
  }
}
