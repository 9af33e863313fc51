import { t } from "@vscode/l10n";
import type { Progress, window as vscodeWindow } from "vscode";
import type { ServiceClient } from "../../client/service/client.ts";
import { slotHolders } from "../../client/start/slotHolders.ts";
import { nameOf, type Run } from "../../contract/run.ts";
import type { Session } from "../session/session.ts";
import { ProgressLocation } from "../window/editorEnums.ts";
import type { Wait, Waits } from "./waits.ts";

/** The start was given up by the person while it waited for a place. */
export class StoppedWaiting extends Error {
  override readonly name = "StoppedWaiting";
}

/**
 * Shows the wait for a place: a notification with the seconds left, who holds the place, and a way to stop; and the
 * seconds in the status bar. It appears only once there is something to wait for.
 */
export class WaitNotice implements Disposable {
  readonly #pipeline: string;
  readonly #window: Pick<typeof vscodeWindow, "withProgress">;
  readonly #holder: () => string | undefined;
  readonly #wait: ReturnType<Waits["begin"]>;
  readonly #stopped = new AbortController();
  readonly #over = Promise.withResolvers<void>();
  #progress: Progress<{ message: string }> | undefined;
  #shown = false;

  /** @param holder says who holds the place now; undefined while that isn't known. */
  constructor(
    wish: Pick<Wait, "pipeline" | "project">,
    window: Pick<typeof vscodeWindow, "withProgress">,
    waits: Waits,
    holder: () => string | undefined = () => undefined,
  ) {
    this.#pipeline = wish.pipeline;
    this.#window = window;
    this.#holder = holder;
    this.#wait = waits.begin(wish, () => this.#stop());
  }

  /** Aborted with a {@link StoppedWaiting} when the person stops waiting. */
  get signal(): AbortSignal {
    return this.#stopped.signal;
  }

  update(secondsLeft: number): void {
    if (this.signal.aborted) return;
    this.#wait.update(secondsLeft);
    const holder = this.#holder();
    const message =
      holder === undefined
        ? t("{0} s left", secondsLeft)
        : t("{0} s left; slot held by {1}", secondsLeft, holder);
    this.#progress?.report({ message });
    if (this.#shown) return;
    this.#shown = true;
    const title = t("Waiting for a slot to run {0}", this.#pipeline);
    this.#window.withProgress(
      { location: ProgressLocation.notification, title, cancellable: true },
      (progress, token) => {
        this.#progress = progress;
        progress.report({ message });
        token.onCancellationRequested(() => this.#stop());
        return this.#over.promise;
      },
    );
  }

  /** Ends the notification and the status bar's wait; whatever comes after it is told in their place. */
  [Symbol.dispose](): void {
    this.#wait.end();
    this.#over.resolve();
  }

  /** The notification goes at once, also where the service takes a moment to let go of the start. */
  #stop(): void {
    this.#stopped.abort(new StoppedWaiting("stopped waiting"));
    this[Symbol.dispose]();
  }
}

/** The runs that hold the org's places, and the id of the asking key, which is the `actor` of its own runs. */
export interface SlotHolders {
  readonly runs: readonly Run[];
  readonly me: string;
}

/** Who holds the places, as the service's events have told it. @returns undefined where it has no events. */
export function knownSlotHolders({ state }: Pick<Session, "state">): SlotHolders | undefined {
  const { value } = state;
  if (value.kind !== "live" || value.activeRuns === undefined) return undefined;
  return { runs: value.activeRuns, me: value.org.actor };
}

/** The same, asked for now. @returns undefined where the service doesn't tell. @throws only the signal's reason. */
export async function readSlotHolders(
  client: ServiceClient,
  signal: AbortSignal,
): Promise<SlotHolders | undefined> {
  const [runs, org] = await Promise.all([
    slotHolders(client, signal),
    client.org(signal).catch(() => undefined),
  ]);
  signal.throwIfAborted();
  return runs === undefined || org === undefined ? undefined : { runs, me: org.actor };
}

/** `long (your run)`, of several `long (your run), nightly (by key_2)`; undefined for none. */
export function slotHolderText({ runs, me }: SlotHolders): string | undefined {
  if (runs.length === 0) return undefined;
  return runs
    .map((run) => {
      if (run.actor === undefined) return nameOf(run);
      return run.actor === me ? t("{0} (your run)", nameOf(run)) : t("{0} (by {1})", nameOf(run), run.actor);
    })
    .join(", ");
}
