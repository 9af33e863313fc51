import type { Disposable } from "vscode";
import { readDayUse } from "../../client/follow/dayUse.ts";
import { anySignal } from "../../machine/anySignal.ts";
import type { DayUse } from "../../text/dayUse.ts";
import type { Session } from "../session/session.ts";
import { serviceNow } from "../session/sessionState.ts";
import { ObservableValue } from "../window/observable.ts";

export interface DayUseDeps {
  readonly session: Pick<Session, "state" | "reading" | "currentClient">;
  readonly signal: AbortSignal;
}

/** Who used the day's runs, read anew each time their number changes. An idle window asks for nothing. */
export class DayUseReader implements Disposable {
  readonly use = new ObservableValue<DayUse | undefined>(undefined);
  readonly #deps: DayUseDeps;
  readonly #subscription: Disposable;
  /** The number of runs, by org and key, that it was read for. */
  #readFor = "";
  #reading = new AbortController();

  constructor(deps: DayUseDeps) {
    this.#deps = deps;
    this.#subscription = deps.session.state.observe(() => void this.#update());
  }

  dispose(): void {
    this.#subscription.dispose();
    this.#reading.abort();
  }

  async #update(): Promise<void> {
    const { session, signal } = this.#deps;
    const { currentClient } = session;
    const state = session.state.value;
    const reading = session.reading.value;
    if (state.kind !== "live" || reading === undefined || currentClient === undefined) {
      this.#readFor = "";
      this.use.set(undefined);
      return;
    }
    const { orgId, actor, usage } = state.org;
    const wanted = `${currentClient.baseUrl.href} ${orgId} ${actor} ${usage.runsToday}`;
    if (wanted === this.#readFor) return;
    this.#readFor = wanted;
    this.#reading.abort();
    const newer = new AbortController();
    this.#reading = newer;
    const ends = anySignal([signal, newer.signal]);
    const now = serviceNow(reading, currentClient.clock.now());
    const use = await readDayUse(currentClient, state.org, now, ends).catch(() => undefined);
    if (!ends.aborted) this.use.set(use);
  }
}
