import { ProjectNames } from "../../../src/extension/session/projectNames.ts";
import type { SessionState } from "../../../src/extension/session/serviceConnection.ts";
import { ObservableValue } from "../../../src/extension/window/observable.ts";

/** The names of a window's projects, where no service is followed. */
export function namesOf(): ProjectNames {
  const state = new ObservableValue<SessionState>({ kind: "idle" });
  return new ProjectNames({
    session: { state, currentClient: undefined },
    log: { warn: () => {} },
    isTrusted: () => true,
  });
}
