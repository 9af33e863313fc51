import { t } from "@vscode/l10n";
import type { window as vscodeWindow } from "vscode";
import { connectEmbedded } from "../../client/embedded/connectEmbedded.ts";
import { findEmbedded } from "../../client/embedded/findEmbedded.ts";
import { type ConnectDeps, restartEmbedded, stopEmbedded } from "../../client/embedded/startEmbedded.ts";
import type { Session } from "../session/session.ts";

export interface MachineServiceDeps {
  readonly session: Pick<Session, "restart">;
  /** This machine's own service, even if the window uses another one. */
  readonly ownService: () => ConnectDeps;
  readonly window: Pick<typeof vscodeWindow, "showWarningMessage">;
  readonly signal: AbortSignal;
}

/** “Start This Machine's Service”: starts it even if a person has stopped it. @throws as `connectEmbedded`. */
export async function startService({ session, ownService, signal }: MachineServiceDeps): Promise<void> {
  await connectEmbedded({ ...ownService(), start: "asked" }, signal);
  session.restart();
}

/**
 * “Stop This Machine's Service”: cancels its runs, after asking, and keeps every window from starting it until a person asks for
 * it. @throws as `stopEmbedded`.
 */
export async function stopService(deps: MachineServiceDeps): Promise<void> {
  const { session, ownService, signal } = deps;
  if (!(await mayEndRuns(t("Stop"), deps))) return;
  await stopEmbedded(ownService(), signal);
  session.restart();
}

/** “Restart This Machine's Service”: cancels its runs, after asking; starts go on waiting. @throws as `restartEmbedded`. */
export async function restartService(deps: MachineServiceDeps): Promise<void> {
  const { session, ownService, signal } = deps;
  if (!(await mayEndRuns(t("Restart"), deps))) return;
  await restartEmbedded(ownService(), signal);
  session.restart();
}

/** Asks the person if the service has active runs, of any org. */
async function mayEndRuns(
  button: string,
  { ownService, window, signal }: MachineServiceDeps,
): Promise<boolean> {
  // A service that is too old to report its runs is also too old to be asked to stop.
  const state = await (await findEmbedded(ownService(), signal))?.client.serviceState(signal);
  const active = state?.runs.length ?? 0;
  if (active === 0) return true;
  const question =
    active === 1
      ? t("An active run of this machine's service will be cancelled.")
      : t("{0} active runs of this machine's service will be cancelled.", active);
  return (await window.showWarningMessage(question, { modal: true }, button)) === button;
}
