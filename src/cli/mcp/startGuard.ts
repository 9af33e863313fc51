import { nextReset } from "../../contract/day.ts";
import type { Org } from "../../contract/org.ts";
import type { Clock } from "../../machine/clock.ts";
import type { Numbers } from "../commands/org.ts";
import type { Holder, StartRefusal } from "./results.ts";

/** What agents may use of the day's runs. */
export interface StartLimits {
  /** How many runs they may start until the server ends; undefined for no limit of its own. */
  readonly maxRuns: number | undefined;
  /** How many of the day's runs they leave to people. */
  readonly reserve: number;
}

/** For how long a taken slot is answered from memory, if nothing shows that it has become free. */
const slotSeconds = 15;

/**
 * Keeps an agent from asking the service again and again for what it has just refused. A used-up day is remembered until the
 * count starts again, a taken slot for some seconds, and each only until the service says something better.
 */
export class StartGuard {
  readonly #limits: StartLimits;
  readonly #clock: Pick<Clock, "now">;
  #started = 0;
  #remembered: { readonly refusal: StartRefusal; readonly until: number } | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor(limits: StartLimits, clock: Pick<Clock, "now">) {
    this.#limits = limits;
    this.#clock = clock;
  }

  /** Runs one start at a time, so that none passes a limit beside another. */
  oneAtATime<T>(start: () => Promise<T>): Promise<T> {
    const started = this.#last.then(start);
    this.#last = started.catch(() => undefined);
    return started;
  }

  /** Counts a run that was started, or may have been. */
  count(): void {
    this.#started += 1;
  }

  /** How many runs agents may still start today, by what was seen last of the org. */
  startsLeft({ limits, usage }: Org): number {
    const ofDay = limits.runsPerDay - usage.runsToday - this.#limits.reserve;
    return Math.max(0, Math.min(ofDay, this.#ofSession()));
  }

  /** The refusal of a start that needs no request: this server's own limit, or what the service has just said. */
  known(): StartRefusal | undefined {
    if (this.#ofSession() <= 0) {
      return {
        scope: "session",
        retryable: false,
        next: `Start no more runs: this server may start ${this.#limits.maxRuns}, and has. Tell the person, who can run the pipeline, or raise --max-runs.`,
      };
    }
    if (this.#remembered === undefined) return undefined;
    const { refusal, until } = this.#remembered;
    const left = Math.ceil((until - this.#clock.now()) / 1000);
    if (left > 0) return { ...refusal, retryAfterSeconds: left };
    this.#remembered = undefined;
    return undefined;
  }

  /** The refusal of a start that would take what is left to people. Remembered until the count starts again. */
  reserved(seen: Numbers): StartRefusal | undefined {
    const { limits, usage } = seen.org;
    const left = limits.runsPerDay - usage.runsToday;
    // A used-up day is the service's to refuse.
    if (left <= 0 || left > this.#limits.reserve) return undefined;
    const next = `Start no more runs today: the last ${this.#limits.reserve} of the day are left to people. Tell the person.`;
    return this.#rememberDay("reserve", seen, next);
  }

  /** The refusal of a start that found the day used up. Remembered until the count starts again. */
  usedUp(seen: Pick<Numbers, "servedAt">): StartRefusal {
    const next = "Start no more runs before `resets-at`: asking again can't help. Tell the person.";
    return this.#rememberDay("free-day", seen, next);
  }

  /**
   * The refusal of a start that found the slot taken, which is remembered unless the slot has become free since.
   * @param holder undefined where the service doesn't tell.
   */
  taken(seen: Numbers, holder: Holder | undefined): StartRefusal {
    if (hasFreeSlot(seen)) {
      const next = "The slot has become free in this moment: call start_run once more.";
      return { scope: "org", retryable: true, retryAfterSeconds: 1, next };
    }
    const next =
      holder === undefined
        ? "Wait, then call start_run once more; get_quota shows whether the slot is free."
        : `Call wait_for_run with run-id ${holder.runId}, then start_run once more.`;
    const refusal: StartRefusal = { scope: "org", retryable: true, ...(holder && { holder }), next };
    this.#remembered = { refusal, until: this.#clock.now() + slotSeconds * 1000 };
    return { ...refusal, retryAfterSeconds: slotSeconds };
  }

  /** Forgets a refusal that what the service says now contradicts. */
  see(seen: Numbers): void {
    const scope = this.#remembered?.refusal.scope;
    const isBetter = scope === "org" ? hasFreeSlot(seen) : this.startsLeft(seen.org) > 0;
    if (isBetter) this.#remembered = undefined;
  }

  #ofSession(): number {
    return (this.#limits.maxRuns ?? Number.POSITIVE_INFINITY) - this.#started;
  }

  /** Until 00:00 UTC, which is reached after as many seconds here as by the service's clock. */
  #rememberDay(
    scope: "free-day" | "reserve",
    { servedAt }: Pick<Numbers, "servedAt">,
    next: string,
  ): StartRefusal {
    const now = this.#clock.now();
    const served = servedAt ?? now;
    const reset = nextReset(served);
    const refusal = { scope, retryable: false, resetsAt: new Date(reset).toISOString(), next } as const;
    this.#remembered = { refusal, until: now + reset - served };
    return { ...refusal, retryAfterSeconds: Math.ceil((reset - served) / 1000) };
  }
}

/** Whether the org has a free slot, as far as the service tells. */
export function hasFreeSlot({ org, runsInWork }: Pick<Numbers, "org" | "runsInWork">): boolean {
  return runsInWork !== undefined && runsInWork.length < org.limits.parallelRuns;
}
