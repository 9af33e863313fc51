import { createHash } from "node:crypto";
import { watch } from "node:fs";
import { readdir, readFile, unlink } from "node:fs/promises";
import { join } from "node:path";
import { t } from "@vscode/l10n";
import * as z from "zod/mini";
import { PipelineError } from "../../contract/errors.ts";
import { type InputValues, inputValuesSchema } from "../../contract/inputs.ts";
import { makeFolder } from "../../machine/dataFolder.ts";
import { replaceFile } from "../../machine/privateFile.ts";
import { codeOf } from "../../project/systemErrors.ts";
import { plainText, withoutIcons } from "../window/plainWindow.ts";
import { deferredStartsFolder } from "../window/storedState.ts";

export interface StoredRetries {
  /** The next one first. */
  readonly retries: readonly PendingRetry[];
  /** False if some can't be read at the moment, as with too many open files. */
  readonly isWhole: boolean;
}

/** Whether this window has removed it; `gone` if another one was first, `unknown` where it can't be removed. */
export type Taken = "taken" | "gone" | "unknown";

/** The deferred starts of a workspace, shared by all its windows. */
export interface RetryStore {
  /** Never rejects. */
  list(): Promise<StoredRetries>;
  /** Resolves once it is on the disk. @throws PipelineError when it can't be stored. */
  put(retry: PendingRetry): Promise<void>;
  /** Removes one, for one of the windows: that one makes or cancels the start. Never rejects. */
  take(id: string): Promise<Taken>;
  /** Called when another window may have deferred or cancelled a start, and once when the watching begins. */
  onDidChange(listener: () => void): { dispose(): void };
}

/**
 * One file a start, in the extension's global storage: a browser's VS Code writes workspace state seconds later, so that
 * a reload loses it, and two windows of a folder overwrite each other's.
 */
export class RetryFiles implements RetryStore {
  readonly #folder: string;
  readonly #prefix: string;

  /**
   * @param globalStorage the same for all windows of this user on this machine.
   * @param workspace the same for all windows of the workspace.
   */
  constructor(globalStorage: string, workspace: string) {
    this.#folder = deferredStartsFolder(globalStorage);
    this.#prefix = `${hashOf(workspace)}.`;
  }

  async list(): Promise<StoredRetries> {
    let isWhole = true;
    const unread = (error: unknown) => {
      isWhole &&= codeOf(error) === "ENOENT";
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
    try {
      await makeFolder(this.#folder);
      await replaceFile(this.#fileOf(retry.id), JSON.stringify(retry), 0o600);
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause);
      throw new PipelineError("internal", t("The start can't be scheduled for 00:00 UTC: {0}.", why), {
        cause,
        next: t("Free some space on the disk, or run it after 00:00 UTC."),
      });
    }
  }

  async take(id: string): Promise<Taken> {
    try {
      await unlink(this.#fileOf(id));
      return "taken";
    } catch (error) {
      return codeOf(error) === "ENOENT" ? "gone" : "unknown";
    }
  }

  onDidChange(listener: () => void): { dispose(): void } {
    const ended = new AbortController();
    const begin = async () => {
      await makeFolder(this.#folder);
      if (ended.signal.aborted) return;
      const watching = watch(this.#folder, { persistent: false, signal: ended.signal }, (_, changed) => {
        if (changed?.startsWith(this.#prefix) && changed.endsWith(".json")) listener();
      });
      // Without the watcher, a window reads the changes when it opens.
      watching.on("error", () => {});
      // Files from before the watching are not reported.
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

/** An id may come from an edited file, so it is not used as a file name. */
function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 32);
}

/** A start that is deferred to 00:00 UTC. */
const pendingRetrySchema = z.object({
  id: z.string(),
  pipeline: z.string(),
  project: z.optional(z.string()),
  timeLimitSeconds: z.optional(z.number()),
  fromStep: z.optional(z.string()),
  inputs: z.optional(inputValuesSchema),
  /** The reset, on the service's clock, in milliseconds since 1970. */
  resetAt: z.number(),
  /** When it is made, on this machine's clock, which may be off, in milliseconds since 1970. */
  dueAt: z.number(),
  /** The service that refused it; no other one gets it. */
  origin: z.string(),
  orgId: z.string(),
});

/** A start request that is deferred. */
export interface DeferredStart {
  readonly pipeline: string;
  readonly project?: string | undefined;
  readonly timeLimitSeconds?: number | undefined;
  readonly fromStep?: string | undefined;
  readonly inputs?: InputValues | undefined;
}

export type PendingRetry = z.infer<typeof pendingRetrySchema>;

/** @returns undefined for what another version wrote differently. */
function readPending(kept: unknown): PendingRetry | undefined {
  const read = z.safeParse(pendingRetrySchema, kept);
  return read.success ? read.data : undefined;
}

/** The deferred starts in the status bar: `nightly at 00:00 UTC`. */
export function retriesText([first, ...others]: readonly PendingRetry[]): string {
  if (first === undefined) return "";
  if (others.length > 0) return t("{0} starts at 00:00 UTC", others.length + 1);
  return t("{0} at 00:00 UTC", plainText(withoutIcons(first.pipeline)));
}
