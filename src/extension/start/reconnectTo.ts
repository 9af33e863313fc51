import { t } from "@vscode/l10n";
import type { Reconnect } from "../../client/foundAnew.ts";
import { PipelineError } from "../../contract/errors.ts";
import type { Session } from "../session.ts";
import type { Target } from "../target.ts";

interface ReconnectDeps {
  readonly session: Pick<Session, "connect">;
  readonly target: () => Target;
}

/**
 * Where to look for the service after a break: only this machine's own moves. Any other is asked where it is, so that
 * settings that change meanwhile never send a start, or the question for its run, to another service.
 */
export function reconnectTo({ session, target }: ReconnectDeps): Reconnect | undefined {
  if (target().kind !== "embedded") return undefined;
  return (signal) => {
    if (target().kind === "embedded") return session.connect(signal);
    throw otherService();
  };
}

/** What stands in the way of asking a service for what another one has. */
function otherService(): PipelineError {
  return new PipelineError("out-of-reach", t("The settings name another service by now."));
}
