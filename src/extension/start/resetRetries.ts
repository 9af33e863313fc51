import { hash } from "node:crypto";
import { readdir, readFile, unlink } from "node:fs/promises";
import { join } from "node:path";
import { t } from "@vscode/l10n";
import type { Disposable, LogOutputChannel, window as vscodeWindow } from "vscode";
import * as z from "zod/mini";
import { mayHaveRestarted } from "../../client/service/failedRequest.ts";
import { growingPauses } from "../../client/service/retry.ts";
import { describeError, PipelineError } from "../../contract/errors.ts";
import { nextReset } from "../../contract/limits.ts";
import { type InputValues, inputValuesSchema } from "../../contract/pipelines.ts";
import type { StartRequest } from "../../contract/run.ts";
import type { Clock } from "../../machine/clock.ts";
import { makeFolder } from "../../machine/dataFolder.ts";
import { replaceFile } from "../../machine/privateFile.ts";
import { codeOf } from "../../project/systemErrors.ts";
import type { Session } from "../session/session.ts";
import { ObservableValue } from "../window/observable.ts";
import { plainText, withoutIcons } from "../window/plainWindow.ts";
import { deferredStartsFolder } from "../window/storedState.ts";

export interface ResetRetriesDeps {
  readonly store: Pick<RetryFiles, "list" | "put" | "take">;
  readonly session: Pick<Session, "connect" | "origin">;
  readonly clock: Clock;
  /** A number from 0 up to but not including 1, for the jitter. */
  readonly random: () => number;
  readonly window: Pick<typeof vscodeWindow, "showInformationMessage" | "setStatusBarMessage">;
  readonly log: Pick<LogOutputChannel, "info">;
  readonly start: (request: StartRequest) => Promise<void>;
}

/** In milliseconds. Thousands may wait for the same moment, so each starts a little later. */
const jitter = { least: 1000, most: 10_000 } as const;
/** In milliseconds: the person is asked before a start that is later than this. */
const tooLate = 5 * 60_000;
/** In milliseconds: how often stored starts are read. Other windows change them, and timers stop while a machine sleeps. */
const refreshInterval = 30_000;
/** In milliseconds. */
const statusBarTime = 8000;

/**
 * Starts that were refused on a used-up day and that the person deferred to 00:00 UTC. They are stored for all windows of the
 * workspace and survive a reload, a crash and a restart of the editor. Only one window makes each, by the service's clock; if a
 * start's time has passed, the person is asked.
 */
export class ResetRetries implements Disposable {
  /** The stored starts, the next one first. */
  readonly pending = new ObservableValue<readonly PendingRetry[]>([]);
  readonly #deps: ResetRetriesDeps;
  readonly #ended = new AbortController();
  /** The starts that this window is making or asking about. */
  readonly #begun = new Set<string>();
  /** New times of starts that came before the service's reset, as this machine's clock was changed; in this window only. */
  readonly #later = new Map<string, number>();
  #refreshes = 0;
  #cancelNextRefresh = () => {};

  constructor(deps: ResetRetriesDeps) {
    this.#deps = deps;
    void this.refresh();
  }

  /**
   * Defers a start to the next 00:00 UTC; the same pipeline, step and inputs only once.
   * @throws PipelineError as `ServiceClient.orgAndTime` and `Session.connect`, and if it can't be stored.
   */
  async add(request: StartRequest, signal: AbortSignal): Promise<PendingRetry> {
    const { clock, store, random, session } = this.#deps;
    const { pipeline, project, timeLimitSeconds, fromStep, inputs } = request;
    const client = await session.connect(signal);
    const { org, servedAt } = await client.orgAndTime(signal);
    const now = clock.now();
    const resetAt = nextReset(servedAt ?? now);
    const late = jitter.least + random() * (jitter.most - jitter.least);
    const origin = session.origin ?? "";
    const start = [origin, org.orgId, project, pipeline, fromStep, ...sorted(inputs), resetAt];
    const retry: PendingRetry = {
      // The same in all windows, so that a start that two of them defer is made once.
      id: hash("sha256", JSON.stringify(start)),
      pipeline,
      project,
      timeLimitSeconds,
      fromStep,
      inputs,
      resetAt,
      dueAt: Math.round(now + (resetAt - (servedAt ?? now)) + late),
      origin,
      orgId: org.orgId,
    };
    await store.put(retry);
    await this.refresh();
    return retry;
  }

  /** Cancels a deferred start in all windows. @returns false if another window was first. @throws if it can't be removed. */
  async cancel({ id }: Pick<PendingRetry, "id">): Promise<boolean> {
    const isTaken = await this.#deps.store.take(id);
    await this.refresh();
    return isTaken;
  }

  dispose(): void {
    this.#ended.abort(new Error("the window closes"));
    this.#cancelNextRefresh();
  }

  /** Reads the stored starts of all windows and begins those that are due; reads them again when the next one is. */
  async refresh(): Promise<void> {
    const { clock, store } = this.#deps;
    this.#refreshes += 1;
    const refresh = this.#refreshes;
    const stored = await store.list();
    if (refresh !== this.#refreshes || this.#ended.signal.aborted) return;
    const now = clock.now();
    const pauses: number[] = [];
    for (const retry of stored.filter(({ id }) => !this.#begun.has(id))) {
      const dueAt = this.#later.get(retry.id) ?? retry.dueAt;
      if (dueAt <= now) void this.#begin({ ...retry, dueAt });
      else pauses.push(dueAt - now);
    }
    this.#cancelNextRefresh();
    this.#cancelNextRefresh = clock.after(Math.min(refreshInterval, ...pauses), () => void this.refresh());
    this.pending.set(stored);
  }

  async #begin(retry: PendingRetry): Promise<void> {
    this.#begun.add(retry.id);
    try {
      await this.#makeOrAsk(retry);
    } catch (error) {
      if (!this.#ended.signal.aborted) await this.#ask(retry, t("but: {0}", describeError(error)));
    }
  }

  async #makeOrAsk(retry: PendingRetry): Promise<void> {
    const { clock, log, start, store, window } = this.#deps;
    const isTooLate = clock.now() - retry.dueAt > tooLate;
    const found = isTooLate
      ? t("while this window was closed or asleep")
      : await this.#untilReset(retry, this.#ended.signal);
    if (typeof found === "number" && found > 0) {
      this.#later.set(retry.id, clock.now() + found);
      this.#begun.delete(retry.id);
      return this.refresh();
    }
    const isTaken = await store.take(retry.id);
    void this.refresh();
    // Another window was first, or the start was cancelled.
    if (!isTaken) return;
    if (typeof found === "string") return this.#ask(retry, found);
    log.info(`${retry.pipeline}: started at 00:00 UTC, as it was asked for`);
    window.setStatusBarMessage(
      `$(watch) ${t("Starting a run that was scheduled for 00:00 UTC")}`,
      statusBarTime,
    );
    await start(retry);
  }

  /** Milliseconds to the reset, on the service's clock. @returns a text that says why the start can't be made. */
  async #untilReset(retry: PendingRetry, signal: AbortSignal): Promise<number | string> {
    const { clock, random, session } = this.#deps;
    const pauses = growingPauses(random, { shortest: 2000, longest: 30_000 });
    for (;;) {
      if (session.origin !== retry.origin) return t("but this window now uses another service");
      try {
        const client = await session.connect(signal);
        const { org, servedAt } = await client.orgAndTime(signal);
        if (org.orgId !== retry.orgId) return t("but this window now uses a key of another org");
        return servedAt === undefined ? 0 : retry.resetAt - servedAt;
      } catch (error) {
        signal.throwIfAborted();
        if (!mayHaveRestarted(error)) return t("but: {0}", describeError(error));
        if (clock.now() - retry.dueAt > tooLate) return t("but the service could not be reached");
        await clock.sleep(pauses.next().value, signal);
      }
    }
  }

  /** Asks about a start that can't be made on time. */
  async #ask(retry: PendingRetry, why: string): Promise<void> {
    const now = t("Run Now");
    const chosen = await this.#deps.window.showInformationMessage(
      t(
        "{0} was scheduled for 00:00 UTC on {1}, {2}.",
        retry.pipeline,
        new Date(retry.resetAt).toISOString().slice(0, 10),
        why,
      ),
      now,
    );
    if (chosen === now) await this.#deps.start(retry);
  }
}

function sorted(inputs: InputValues = {}): (readonly [string, unknown])[] {
  return Object.entries(inputs).sort(([one], [other]) => (one < other ? -1 : 1));
}

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
