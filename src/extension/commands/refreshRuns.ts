import type { RunList } from "../runList.ts";
import type { Session } from "../session.ts";

export interface RefreshRunsDeps {
  readonly session: Pick<Session, "state" | "followed" | "watch" | "restart" | "refresh">;
  readonly runs: Pick<RunList, "refresh">;
  readonly signal: AbortSignal;
}

/** “Refresh Runs”: asks the service anew for the org and its runs; where it wasn't within reach, tries to reach it now. */
export async function refreshRuns({ session, runs, signal }: RefreshRunsDeps): Promise<void> {
  const { followed } = session;
  if (session.state.value.kind === "live" && followed !== undefined) {
    await Promise.all([session.refresh(followed, signal), runs.refresh(signal)]);
    return;
  }
  session.watch();
  session.restart();
}
