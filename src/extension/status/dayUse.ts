import { readDayUse } from "../../client/follow/listRuns.ts";
import type { DayUse } from "../../text/dayUse.ts";
import type { Session } from "../session/session.ts";
import { serviceNow } from "../session/sessionState.ts";
import { ObservableValue } from "../window/observable.ts";

type FollowedSession = Pick<Session, "state" | "reading" | "currentClient">;

/** Who used the day's runs, read anew each time their number changes. An idle window asks for nothing. */
export function watchDayUse(session: FollowedSession) {
  const use = new ObservableValue<DayUse | undefined>(undefined);
  /** The number of runs, by org and key, that it was read for. */
  let readFor = "";
  let reading = new AbortController();
  const update = async () => {
    const { currentClient } = session;
    const state = session.state.value;
    if (state.kind !== "live" || session.reading.value === undefined || currentClient === undefined) {
      readFor = "";
      use.set(undefined);
      return;
    }
    const { orgId, actor, usage } = state.org;
    const wanted = `${currentClient.baseUrl.href} ${orgId} ${actor} ${usage.runsToday}`;
    if (wanted === readFor) return;
    readFor = wanted;
    reading.abort();
    reading = new AbortController();
    const { signal } = reading;
    const now = serviceNow(session.reading.value, currentClient.clock.now());
    const read = await readDayUse(currentClient, state.org, now, signal).catch(() => undefined);
    if (!signal.aborted) use.set(read);
  };
  const subscription = session.state.observe(() => void update());
  return {
    use,
    dispose: () => {
      subscription.dispose();
      reading.abort();
    },
  };
}
