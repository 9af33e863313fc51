import { PipelineError } from "../contract/errors.ts";
import type { ServedRun } from "../contract/run.ts";
import type { Clock } from "./clock.ts";
import type { Admission, StartWish } from "./store/admitRun.ts";

export interface PlacesDeps {
  /** Asks the store, which alone decides. */
  readonly admit: (wish: StartWish) => Promise<Admission>;
  /** The run that the wish's key has started already, to be told or withdrawn as one that was admitted. */
  readonly repeated: (wish: StartWish) => Promise<ServedRun | undefined>;
  /** Takes back a run whose caller had gone before it could be told; the store does so before it decides anything else. */
  readonly withdraw: (runId: string) => void;
  readonly clock: Pick<Clock, "after">;
  /** Someone has begun or ceased to wait for a place of the org. */
  readonly onLineChanged?: (orgId: string) => void;
}

interface Waiter {
  readonly wish: StartWish;
  /** Whether it may still stand in line; one that may not is answered as soon as a place is known to be taken. */
  patient: boolean;
  /** Whether a place was asked for in vain, so that it really stands there. */
  waits: boolean;
  gone: boolean;
  readonly settle: (outcome: Admission) => void;
  readonly fail: (error: unknown) => void;
  readonly sendAway: () => void;
}

interface Line {
  /** In the order in which they came. */
  readonly waiters: Set<Waiter>;
  serving: boolean;
  /** Something changed while the line was being served: look at it once more. */
  again: boolean;
  /** A place was given up since the line was last looked at. */
  mayBeFree: boolean;
  /** Settles when the line isn't being served any more. */
  served: Promise<void>;
}

/**
 * How many requests stand in line at most, in all orgs. One that comes then is answered like one that doesn't wait: each
 * holds a connection, and whoever wants to look or to cancel needs one as well (see the server's limits).
 */
const longestLine = 1_000;

/**
 * The line for an org's places: first come, first served. Every start passes through it, also one that doesn't wait,
 * so that nobody is overtaken; only the one at its head is ever put to the store.
 */
export class Places {
  readonly #deps: PlacesDeps;
  readonly #lines = new Map<string, Line>();
  #waiting = 0;
  #closed = false;

  constructor(deps: PlacesDeps) {
    this.#deps = deps;
  }

  /** How many requests stand in line, in all orgs. */
  get waiting(): number {
    return this.#waiting;
  }

  /** How many starts of one org wait for a place; one that does not wait is none of them. */
  waitingFor(orgId: string): number {
    const waiters = this.#lines.get(orgId)?.waiters ?? [];
    return [...waiters].filter(({ waits }) => waits).length;
  }

  /**
   * Asks for a place, standing in line for up to `waitSeconds` (0: not at all). A used-up day is told at once.
   * @throws the signal's reason when the caller leaves the line, and whatever the store throws.
   */
  request(wish: StartWish, waitSeconds: number, signal: AbortSignal): Promise<Admission> {
    if (signal.aborted) return Promise.reject(signal.reason);
    if (this.#closed) return Promise.reject(serviceStops());
    const line = this.#lineOf(wish.orgId);
    return new Promise<Admission>((resolve, reject) => {
      let stopTimer = () => {};
      const leave = (why: unknown) => {
        waiter.gone = true;
        finish();
        reject(why);
      };
      const callerLeft = () => leave(signal.reason);
      const finish = () => {
        stopTimer();
        signal.removeEventListener("abort", callerLeft);
        if (line.waiters.delete(waiter)) this.#waiting -= 1;
        if (line.waiters.size === 0 && !line.serving) this.#lines.delete(wish.orgId);
        if (waiter.waits) this.#deps.onLineChanged?.(wish.orgId);
      };
      const waiter: Waiter = {
        wish,
        patient: waitSeconds > 0 && this.waiting < longestLine,
        waits: false,
        gone: false,
        settle: (outcome) => {
          finish();
          resolve(outcome);
        },
        fail: (error) => {
          finish();
          reject(error);
        },
        sendAway: () => leave(serviceStops()),
      };
      signal.addEventListener("abort", callerLeft, { once: true });
      if (waiter.patient) {
        stopTimer = this.#deps.clock.after(waitSeconds * 1000, () => {
          waiter.patient = false;
          this.#serve(wish.orgId);
        });
      }
      line.waiters.add(waiter);
      this.#waiting += 1;
      this.#serve(wish.orgId);
    });
  }

  /**
   * Sends everyone in line away, and whoever comes later: the service is about to end. Resolves when no start is being
   * decided any more: one that was granted to someone who has been sent away is being taken back by then.
   */
  async close(): Promise<void> {
    this.#closed = true;
    const deciding = [...this.#lines.values()].map(({ served }) => served);
    for (const line of [...this.#lines.values()]) {
      for (const waiter of [...line.waiters]) waiter.sendAway();
    }
    await Promise.all(deciding);
  }

  /**
   * To be called in the moment that a place of the org is asked to be given up: the head of the line asks for it right
   * behind, so that one commit does both. What comes of it before `placeGivenUp` is a gain, and no more: where the end can't be
   * written, nobody's turn ends by it.
   */
  placeIsBeingGivenUp(orgId: string): void {
    // A line that is being served may hold some who want an answer in any case; they get it from the place that is there.
    if (this.#lines.get(orgId)?.serving === false) this.#serve(orgId, { isAhead: true });
  }

  /** To be called whenever a place of the org has been given up. */
  placeGivenUp(orgId: string): void {
    const line = this.#lines.get(orgId);
    if (line !== undefined) line.mayBeFree = true;
    this.#serve(orgId);
  }

  #lineOf(orgId: string): Line {
    const found = this.#lines.get(orgId);
    if (found !== undefined) return found;
    const line: Line = {
      waiters: new Set(),
      serving: false,
      again: false,
      mayBeFree: false,
      served: Promise.resolve(),
    };
    this.#lines.set(orgId, line);
    return line;
  }

  #serve(orgId: string, { isAhead } = { isAhead: false }): void {
    const line = this.#lines.get(orgId);
    if (line === undefined) return;
    line.again = true;
    if (line.serving) return;
    line.serving = true;
    line.served = this.#serveLine(line, isAhead).finally(() => {
      line.serving = false;
      if (line.waiters.size === 0) this.#lines.delete(orgId);
      else if (line.again) this.#serve(orgId);
    });
  }

  /** @param isAhead whether a place is not given up yet: then a failure is not the caller's, and only one may be had. */
  async #serveLine(line: Line, isAhead: boolean): Promise<void> {
    const head = first(line.waiters);
    if (isAhead && head !== undefined) {
      line.again = false;
      await this.#serveHead(head);
    }
    while (line.again) {
      line.again = false;
      const { mayBeFree } = line;
      line.mayBeFree = false;
      for (let head = first(line.waiters); head !== undefined; head = first(line.waiters)) {
        const served = await this.#serveHead(head);
        if (served.kind === "failed") {
          const { error } = served;
          if (mayBeFree || !isWaiting(head)) head.fail(error);
          else {
            // The place is as taken as it was: who came, or has waited for long enough, is told, and nobody else.
            for (const waiter of [...line.waiters].filter((one) => !isWaiting(one))) waiter.fail(error);
            break;
          }
        } else if (served.kind === "place-taken") {
          // Only who may wait stays; a copy, since each that is settled leaves the line.
          const others = [...line.waiters].filter(({ patient }) => !patient);
          await Promise.all(others.map((waiter) => this.#turnAway(waiter)));
          for (const waiter of line.waiters) {
            if (waiter.waits) continue;
            waiter.waits = true;
            this.#deps.onLineChanged?.(waiter.wish.orgId);
          }
          break;
        }
      }
    }
  }

  /** Refuses one that may not wait, unless its wish was granted to a request with the same key meanwhile. */
  async #turnAway(waiter: Waiter): Promise<void> {
    const { wish } = waiter;
    try {
      const run = wish.idempotencyKey === undefined ? undefined : await this.#deps.repeated(wish);
      if (waiter.gone && run !== undefined) this.#deps.withdraw(run.runId);
      else if (run !== undefined) waiter.settle({ kind: "repeated", run });
      else waiter.settle({ kind: "refused", refusal: { scope: "org" } });
    } catch (error) {
      waiter.fail(error);
    }
  }

  async #serveHead(head: Waiter): Promise<ServedHead> {
    try {
      const admission = await this.#deps.admit(head.wish);
      if (head.gone) {
        if (admission.kind !== "refused") this.#deps.withdraw(admission.run.runId);
      } else if (admission.kind === "refused" && admission.refusal.scope === "org")
        return { kind: "place-taken" };
      else head.settle(admission);
      return { kind: "next" };
    } catch (error) {
      return { kind: "failed", error };
    }
  }
}

/** What came of putting the head of a line to the store. */
type ServedHead =
  /** It has its answer, or has left. */
  | { readonly kind: "next" }
  | { readonly kind: "place-taken" }
  /** Nothing was decided. */
  | { readonly kind: "failed"; readonly error: unknown };

/** Whether it stands in line for a place that was taken, and may go on. */
function isWaiting({ waits, patient }: Waiter): boolean {
  return waits && patient;
}

function first<T>(set: ReadonlySet<T>): T | undefined {
  for (const one of set) return one;
  return undefined;
}

function serviceStops(): PipelineError {
  return new PipelineError("internal", "The service is stopping.", { next: "Try again in a moment." });
}
