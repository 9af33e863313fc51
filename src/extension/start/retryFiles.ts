import { createHash, randomUUID } from "node:crypto";
import { watch } from "node:fs";
import { open, readdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { t } from "@vscode/l10n";
import * as z from "zod/mini";
import { makeFolder } from "../../client/embedded/dataFolder.ts";
import { PipelineError } from "../../contract/errors.ts";
import { plainText, withoutIcons } from "../announce/plainWindow.ts";
import { deferredStartsFolder } from "../window/storedState.ts";

export interface StoredRetries {
  /** The first one made first. */
  readonly retries: readonly PendingRetry[];
  /** Whether that is all: false where something can't be read at the moment, as with too many files open. */
  readonly isWhole: boolean;
}

/** The starts of a workspace that are put off, the same for all its windows. */
export interface RetryStore {
  /** What is kept now; never rejects. */
  list(): Promise<StoredRetries>;
  /** Resolves when it is on the disk. @throws PipelineError when it can't be kept. */
  put(retry: PendingRetry): Promise<void>;
  /** Never rejects: who decides what becomes of a start has claimed it, and a claimed one is made by nobody else. */
  remove(id: string): Promise<void>;
  /** Calls back when another window may have put one off, or taken one back; also once it has begun to look. */
  onDidChange(listener: () => void): { dispose(): void };
}

/**
 * A file a start, in the extension's own folder: VS Code in a browser writes what extensions keep for a workspace seconds
 * later, so that a reload or a crash loses it, and two windows of a folder overwrite each other's.
 */
export class RetryFiles implements RetryStore {
  readonly #folder: string;
  readonly #prefix: string;

  /**
   * @param globalStorage the same for all windows of this user on this machine.
   * @param workspace what all windows of the workspace have in common.
   */
  constructor(globalStorage: string, workspace: string) {
    this.#folder = deferredStartsFolder(globalStorage);
    this.#prefix = `${hashOf(workspace)}.`;
  }

  async list(): Promise<StoredRetries> {
    let isWhole = true;
    const unread = (error: unknown) => {
      isWhole &&= error instanceof Error && "code" in error && error.code === "ENOENT";
      return undefined;
    };
    const names = (await readdir(this.#folder).catch(unread)) ?? [];
    const own = names.filter((name) => name.startsWith(this.#prefix) && name.endsWith(".json"));
    const texts = await Promise.all(
      own.map((name) => readFile(join(this.#folder, name), "utf8").catch(unread)),
    );
    const retries = texts.flatMap((text) => parsed(text ?? "") ?? []);
    return { retries: retries.sort((one, other) => one.dueAt - other.dueAt), isWhole };
  }

  async put(retry: PendingRetry): Promise<void> {
    const path = this.#fileOf(retry.id);
    const fresh = `${path}.${randomUUID()}`;
    try {
      await makeFolder(this.#folder);
      const file = await open(fresh, "wx", 0o600);
      try {
        await file.writeFile(JSON.stringify(retry));
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(fresh, path);
    } catch (cause) {
      await rm(fresh, { force: true }).catch(() => undefined);
      const why = cause instanceof Error ? cause.message : String(cause);
      throw new PipelineError("internal", t("The start can't be kept until 00:00 UTC: {0}.", why), {
        cause,
        next: t("Free some space on the disk, or run it after 00:00 UTC."),
      });
    }
  }

  async remove(id: string): Promise<void> {
    await rm(this.#fileOf(id), { force: true }).catch(() => undefined);
  }

  onDidChange(listener: () => void): { dispose(): void } {
    const ended = new AbortController();
    const begin = async () => {
      await makeFolder(this.#folder);
      if (ended.signal.aborted) return;
      const watching = watch(this.#folder, { persistent: false, signal: ended.signal }, (_, changed) => {
        if (changed?.startsWith(this.#prefix) && changed.endsWith(".json")) listener();
      });
      // Without it, a window learns of it when it opens.
      watching.on("error", () => {});
      // Of what was put off before it began, and behind the window's first look, it says nothing.
      listener();
    };
    void begin().catch(() => undefined);
    return { dispose: () => ended.abort() };
  }

  #fileOf(id: string): string {
    return join(this.#folder, `${this.#prefix}${hashOf(id)}.json`);
  }
}

function parsed(text: string): PendingRetry | undefined {
  try {
    return readPending(JSON.parse(text));
  } catch {
    return undefined;
  }
}

/** An id may come from a file that somebody wrote: it is no file name. */
function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 32);
}

/** A start that is to be made at the next 00:00 UTC. */
const pendingRetrySchema = z.object({
  id: z.string(),
  pipeline: z.string(),
  project: z.optional(z.string()),
  timeLimitSeconds: z.optional(z.number()),
  /** The reset, on the service's clock, in milliseconds since 1970. */
  resetAt: z.number(),
  /** When it is to be made, on this machine's clock, which may be off, in milliseconds since 1970. */
  dueAt: z.number(),
  /** Where it was refused: it is made nowhere else. */
  origin: z.string(),
  orgId: z.string(),
});

/** What is put off. */
export interface DeferredStart {
  readonly pipeline: string;
  readonly project?: string | undefined;
  readonly timeLimitSeconds?: number | undefined;
}

export type PendingRetry = z.infer<typeof pendingRetrySchema>;

/** @returns undefined for what is none, such as what another version wrote in another way. */
function readPending(kept: unknown): PendingRetry | undefined {
  const read = z.safeParse(pendingRetrySchema, kept);
  return read.success ? read.data : undefined;
}

/** What the status bar says of starts that are put off: `nightly at 00:00 UTC`. */
export function retriesText([first, ...others]: readonly PendingRetry[]): string {
  if (first === undefined) return "";
  if (others.length > 0) return t("{0} starts at 00:00 UTC", others.length + 1);
  return t("{0} at 00:00 UTC", plainText(withoutIcons(first.pipeline)));
}
