import { hash } from "node:crypto";
import { readdir, readFile, unlink } from "node:fs/promises";
import { join } from "node:path";
import { t } from "@vscode/l10n";
import * as z from "zod/mini";
import { PipelineError } from "../../contract/errors.ts";
import { inputValuesSchema } from "../../contract/inputs.ts";
import { makeFolder } from "../../machine/dataFolder.ts";
import { replaceFile } from "../../machine/privateFile.ts";
import { codeOf } from "../../project/systemErrors.ts";
import { plainText, withoutIcons } from "../window/plainWindow.ts";
import { deferredStartsFolder } from "../window/storedState.ts";

/**
 * Stores one file per start in the extension's global storage. Workspace state won't do: VS Code in a browser writes it seconds
 * later, so that a reload loses it, and two windows of a folder overwrite each other's.
 */
export class RetryFiles {
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

  /** The stored starts, the next one first, without those that can't be read now. */
  async list(): Promise<PendingRetry[]> {
    const names = await readdir(this.#folder).catch(() => []);
    const own = names.filter((name) => name.startsWith(this.#prefix) && name.endsWith(".json"));
    const texts = await Promise.all(
      own.map((name) => readFile(join(this.#folder, name), "utf8").catch(() => "")),
    );
    return texts.flatMap((text) => parsed(text) ?? []).sort((one, other) => one.dueAt - other.dueAt);
  }

  /** Resolves once the start is on the disk. @throws PipelineError if it can't be stored. */
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

  /**
   * Removes a start, so that only one window makes or cancels it.
   * @returns false if another window was first. @throws if it can't be removed.
   */
  async take(id: string): Promise<boolean> {
    try {
      await unlink(this.#fileOf(id));
      return true;
    } catch (error) {
      if (codeOf(error) === "ENOENT") return false;
      throw error;
    }
  }

  #fileOf(id: string): string {
    return join(this.#folder, `${this.#prefix}${hashOf(id)}.json`);
  }
}

/** @returns undefined for another version's format. */
function parsed(text: string): PendingRetry | undefined {
  try {
    return pendingRetrySchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/** An id may come from an edited file, so it isn't used as a file name. */
function hashOf(text: string): string {
  return hash("sha256", text).slice(0, 32);
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
  /** When to make the start, on this machine's clock, which may be wrong, in milliseconds since 1970. */
  dueAt: z.number(),
  /** The service that refused it; the start is sent to no other. */
  origin: z.string(),
  orgId: z.string(),
});

export type PendingRetry = z.infer<typeof pendingRetrySchema>;

/** The deferred starts in the status bar: `nightly at 00:00 UTC`. */
export function retriesText([first, ...others]: readonly PendingRetry[]): string {
  if (first === undefined) return "";
  if (others.length > 0) return t("{0} starts at 00:00 UTC", others.length + 1);
  return t("{0} at 00:00 UTC", plainText(withoutIcons(first.pipeline)));
}
