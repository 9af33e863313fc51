import type { Disposable } from "vscode";
import { readDayUse } from "../../client/follow/dayUse.ts";
import type { DayUse } from "../../text/dayUse.ts";
import type { Session } from "../session/session.ts";
import { serviceNow } from "../session/sessionState.ts";
import { ObservableValue } from "../window/observable.ts";

type FollowedSession = Pick<Session, "state" | "reading" | "currentClient">;

/** Who used the day's runs, read anew each time their number changes. An idle window asks for nothing. */
export class DayUseReader implements Disposable {
  readonly use = new ObservableValue<DayUse | undefined>(undefined);
  readonly #session: FollowedSession;
  readonly #subscription: Disposable;
  /** The number of runs, by org and key, that it was read for. */
  #readFor = "";
  #reading = new AbortController();

  constructor(session: FollowedSession) {
    this.#session = session;
    this.#subscription = session.state.observe(() => void this.#update());
  }

  dispose(): void {
    this.#subscription.dispose();
    this.#reading.abort();
  }

  async #update(): Promise<void> {
    const { currentClient } = this.#session;
    const state = this.#session.state.value;
    const reading = this.#session.reading.value;
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
    this.#reading = new AbortController();
    const { signal } = this.#reading;
    const now = serviceNow(reading, currentClient.clock.now());
    const use = await readDayUse(currentClient, state.org, now, signal).catch(() => undefined);
    if (!signal.aborted) this.use.set(use);
  }
}
