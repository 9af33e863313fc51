import { hash } from "node:crypto";
import { t } from "@vscode/l10n";
import type { LogOutputChannel, window as vscodeWindow } from "vscode";
import { describeError } from "../../contract/errors.ts";
import type { ApiKeys, StoredKey } from "../keys/apiKeys.ts";
import { originOf, originText, type ServiceChoice } from "../keys/serviceChoice.ts";
import type { Claims } from "../window/claims.ts";
import type { Session } from "./session.ts";

export interface KeyWatcherDeps {
  readonly session: Pick<Session, "state" | "currentClient" | "restartIfChanged">;
  readonly keys: Pick<ApiKeys, "setOrg" | "onDidChange">;
  readonly choice: Pick<ServiceChoice, "target" | "keyFor" | "keyRenamed" | "changed">;
  readonly claims: Claims;
  readonly log: Pick<LogOutputChannel, "warn">;
  readonly window: Pick<typeof vscodeWindow, "showWarningMessage">;
  readonly executeCommand: (command: string) => Thenable<unknown>;
}

/**
 * Keeps the session and the keys in step: restarts the session when a window sets or chooses another key, stores a key under its
 * org once the service reports it, and asks once, in one window, for another key when the service no longer accepts one.
 */
export function watchKeys(deps: KeyWatcherDeps) {
  const { session, keys, choice, claims, log, window, executeCommand } = deps;
  let isSettingOrg = false;
  // Errors are only logged: the keys are out of reach while the system's keyring is locked.
  const run = (matter: Promise<void>) => matter.catch((error: unknown) => log.warn(describeError(error)));
  const setOrg = async () => {
    const { value: state } = session.state;
    const target = choice.target();
    if (isSettingOrg || state.kind !== "live" || target.kind === "invalid") return;
    const key = session.currentClient?.apiKey;
    isSettingOrg = true;
    try {
      const kept = await choice.keyFor(originOf(target));
      // The key may have changed since the session connected.
      if (kept === undefined || kept.key !== key) return;
      const learned = await keys.setOrg(kept, state.org);
      if (learned.name !== kept.name) await choice.keyRenamed(kept.name, learned);
    } finally {
      isSettingOrg = false;
    }
  };
  const askOnce = async (origin: string) => {
    const kept = await choice.keyFor(origin);
    if (kept === undefined || !(await claims.claim(claimOf(kept)))) return;
    const [set, choose] = [t("Set API Key…"), t("Choose Another…")];
    const told =
      kept.org === undefined
        ? t("The API key is no longer accepted by {0}.", originText(origin))
        : t("The API key of {1} is no longer accepted by {0}.", originText(origin), kept.org.orgName);
    const chosen = await window.showWarningMessage(told, set, choose);
    if (chosen === set) await executeCommand("pipelineRuns.setApiKey");
    if (chosen === choose) await executeCommand("pipelineRuns.chooseKey");
  };
  const noteRefusal = async () => {
    const target = choice.target();
    const kept = target.kind === "invalid" ? undefined : await choice.keyFor(originOf(target));
    if (kept !== undefined) await claims.claim(claimOf(kept));
  };
  const subscriptions = [
    keys.onDidChange(() => void run(session.restartIfChanged())),
    choice.changed.subscribe(() => void run(session.restartIfChanged())),
    session.state.observe((state) => {
      if (state.kind === "live") void run(setOrg());
      if (state.kind === "no-key" && state.refused) void run(askOnce(state.origin));
    }),
  ];
  return {
    /** Records that another notification says that the key is refused, so that no window says it again. */
    noteRefusalShown: () => run(noteRefusal()),
    dispose: () => {
      for (const subscription of subscriptions) subscription.dispose();
    },
  };
}

/** Others can read claims, so the name is a hash of the key. */
function claimOf({ key }: StoredKey): string {
  return `key-refused/${hash("sha256", `key-refused\n${key}`)}`;
}
