import type { RunList } from "../session/runList.ts";
import type { Session } from "../session/session.ts";

export interface RefreshRunsDeps {
  readonly session: Pick<Session, "state" | "followed" | "watch" | "restart" | "refresh">;
  readonly runs: Pick<RunList, "refresh">;
  readonly signal: AbortSignal;
}

/**
 * “Refresh Runs”: asks the service anew for the org and its runs; where it isn't within reach, tries to reach it now. What
 * is in the way shows in the view and the status bar.
 */
export async function refreshRuns({ session, runs, signal }: RefreshRunsDeps): Promise<void> {
  const { followed } = session;
  if (session.state.value.kind === "live" && followed !== undefined) {
    try {
      await Promise.all([session.refresh(followed, signal), runs.refresh(signal)]);
      return;
    } catch (error) {
      if (signal.aborted) throw error;
    }
  }
  session.watch();
  session.restart();
}
