import { t } from "@vscode/l10n";
import type { Progress, window as vscodeWindow } from "vscode";
import type { ServiceClient } from "../../client/service/client.ts";
import { slotHolders } from "../../client/start/slotHolders.ts";
import type { InputValues } from "../../contract/pipelines.ts";
import { actorText, nameOf, type Run } from "../../contract/run.ts";
import { placeText, type QueuePlace } from "../../text/refusalText.ts";
import type { Session } from "../session/session.ts";
import { ProgressLocation } from "../window/editorEnums.ts";
import { ObservableValue } from "../window/observable.ts";

export class StoppedWaiting extends Error {
  override readonly name = "StoppedWaiting";
}

/**
 * Shows the wait for a slot: a notification with the seconds left, the holder and a button to stop, and the seconds in the status
 * bar. Appears only once the start waits.
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
  #secondsLeft = 0;
  #place: QueuePlace | undefined;

  /** @param holder the current holder of the slot, for people; undefined while unknown. */
  constructor(
    request: AskedStart,
    window: Pick<typeof vscodeWindow, "withProgress">,
    waits: Waits,
    holder: () => string | undefined = () => undefined,
  ) {
    this.#pipeline = request.pipeline;
    this.#window = window;
    this.#holder = holder;
    this.#wait = waits.begin(request, () => this.#stop());
  }

  /** Aborted with a {@link StoppedWaiting} when the person stops waiting. */
  get signal(): AbortSignal {
    return this.#stopped.signal;
  }

  update(secondsLeft: number): void {
    if (this.signal.aborted) return;
    this.#secondsLeft = secondsLeft;
    this.#wait.update(secondsLeft, this.#place);
    const message = this.#message();
    this.#progress?.report({ message });
    if (this.#shown) return;
    this.#shown = true;
    this.#window.withProgress(
      { location: ProgressLocation.notification, cancellable: true },
      (progress, token) => {
        this.#progress = progress;
        progress.report({ message });
        token.onCancellationRequested(() => this.#stop());
        return this.#over.promise;
      },
    );
  }

  /** Shows this queue position from now on; none if undefined. */
  updatePlace(place: QueuePlace | undefined): void {
    this.#place = place;
    if (this.#shown) this.update(this.#secondsLeft);
  }

  /** Removes the notification and the status bar's wait. */
  [Symbol.dispose](): void {
    this.#wait.end();
    this.#over.resolve();
  }

  #message(): string {
    const holder = this.#holder();
    const text =
      holder === undefined
        ? t("{0} is waiting for a slot; gives up in {1} s", this.#pipeline, this.#secondsLeft)
        : t("{0} is waiting for {1} to finish; gives up in {2} s", this.#pipeline, holder, this.#secondsLeft);
    if (this.#place === undefined) return text;
    return `${text} · ${t("{0} in the queue", placeText(this.#place, t))}`;
  }

  /** Removes the notification at once, even if the service takes a moment to reply. */
  #stop(): void {
    this.#stopped.abort(new StoppedWaiting("stopped waiting"));
    this[Symbol.dispose]();
  }
}

/** The runs that hold the org's slots, and the id of this window's key, which is the `actor` of its own runs. */
export interface SlotHolders {
  readonly runs: readonly Run[];
  readonly me: string;
}

/** The slot holders that the service's events report. @returns undefined without events. */
export function knownSlotHolders({ state }: Pick<Session, "state">): SlotHolders | undefined {
  const { value } = state;
  if (value.kind !== "live" || value.activeRuns === undefined) return undefined;
  return { runs: value.activeRuns, me: value.org.actor };
}

/**
 * The slot holders, read now if no events report them. @returns undefined if the service doesn't report them.
 * @throws only the signal's reason.
 */
export async function readSlotHolders(
  client: ServiceClient,
  session: Pick<Session, "state">,
  signal: AbortSignal,
): Promise<SlotHolders | undefined> {
  const known = knownSlotHolders(session);
  if (known !== undefined) return known;
  const [runs, org] = await Promise.all([
    slotHolders(client, signal),
    client.org(signal).catch(() => undefined),
  ]);
  signal.throwIfAborted();
  return runs === undefined || org === undefined ? undefined : { runs, me: org.actor };
}

/** `long (your run), nightly (by key_2)`; undefined if there are no runs. */
export function slotHolderText({ runs, me }: SlotHolders): string | undefined {
  if (runs.length === 0) return undefined;
  return runs
    .map((run) => {
      const starter = actorText(run);
      if (starter === undefined) return nameOf(run);
      return run.actor === me ? t("{0} (your run)", nameOf(run)) : t("{0} (by {1})", nameOf(run), starter);
    })
    .join(", ");
}

/** A start that waits in the queue for a slot. */
export interface Wait {
  readonly pipeline: string;
  readonly project?: string | undefined;
  readonly inputs?: InputValues | undefined;
  readonly secondsLeft: number;
  readonly place?: QueuePlace | undefined;
}

/** What distinguishes a start from others. */
export type AskedStart = Pick<Wait, "pipeline" | "project" | "inputs">;

/** The waits of this window, oldest first. */
export class Waits {
  readonly current = new ObservableValue<readonly Wait[]>([]);
  readonly #waits = new Map<symbol, { readonly wait: Wait; readonly stop: () => void }>();

  /** Starts without a first reply yet. */
  readonly #starting = new Map<string, symbol>();

  /**
   * Records that a start is being requested, until it waits or gets its reply.
   * @returns undefined while the same start is being requested.
   */
  starting(request: AskedStart): Disposable | undefined {
    const name = keyOf(request);
    if (this.#starting.has(name)) return undefined;
    const asked = Symbol(name);
    this.#starting.set(name, asked);
    return { [Symbol.dispose]: () => this.#started(name, asked) };
  }

  /** @param stop leaves the queue. */
  begin(request: AskedStart, stop: () => void) {
    const id = Symbol(request.pipeline);
    const { pipeline, project, inputs } = request;
    const name = keyOf(request);
    const asked = this.#starting.get(name);
    return {
      /** Lists the wait, with the seconds left and the queue position if known, until `end`. */
      update: (secondsLeft: number, place?: QueuePlace): void => {
        this.#started(name, asked);
        this.#waits.set(id, { wait: { pipeline, project, inputs, secondsLeft, place }, stop });
        this.#publish();
      },
      end: (): void => {
        this.#started(name, asked);
        if (this.#waits.delete(id)) this.#publish();
      },
    };
  }

  find(request: AskedStart): Wait | undefined {
    return this.current.value.find((wait) => keyOf(wait) === keyOf(request));
  }

  /** Stops the wait of a start, the latest if there are several; no effect if it is over. */
  stop(wait: AskedStart): void {
    [...this.#waits.values()].findLast((standing) => keyOf(standing.wait) === keyOf(wait))?.stop();
  }

  #started(name: string, asked: symbol | undefined): void {
    if (this.#starting.get(name) === asked) this.#starting.delete(name);
  }

  #publish(): void {
    this.current.set([...this.#waits.values()].map(({ wait }) => wait));
  }
}

function keyOf({ pipeline, project, inputs = {} }: AskedStart): string {
  return JSON.stringify([pipeline, project, Object.entries(inputs).sort()]);
}
