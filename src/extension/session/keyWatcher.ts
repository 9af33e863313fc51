import { hash } from "node:crypto";
import { t } from "@vscode/l10n";
import type { Disposable, LogOutputChannel, window as vscodeWindow } from "vscode";
import { describeError } from "../../contract/errors.ts";
import type { ApiKeys, StoredKey } from "../keys/apiKeys.ts";
import type { ServiceChoice } from "../keys/serviceChoice.ts";
import { originOf, originText } from "../keys/target.ts";
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
 * Keeps the session and the keys in step: restarts the session when a window sets or chooses another key, stores a key
 * under its org once the service reports it, and asks once, in one window, for another key when the service no longer
 * accepts one.
 */
export class KeyWatcher implements Disposable {
  readonly #deps: KeyWatcherDeps;
  readonly #subscriptions: readonly Disposable[];
  #isSettingOrg = false;

  constructor(deps: KeyWatcherDeps) {
    const { session, keys, choice } = deps;
    this.#deps = deps;
    this.#subscriptions = [
      keys.onDidChange(() => this.#run(session.restartIfChanged())),
      choice.changed.subscribe(() => this.#run(session.restartIfChanged())),
      session.state.observe(({ kind }) => {
        if (kind === "live") this.#run(this.#setOrg());
      }),
      session.state.observe((state) => {
        if (state.kind === "no-key" && state.refused) this.#run(this.#askOnce(state.origin));
      }),
    ];
  }

  /** Notes that another notification says that the key is not accepted, so that no window says it again. */
  async noteRefusalShown(): Promise<void> {
    const { choice, claims } = this.#deps;
    const target = choice.target();
    if (target.kind === "invalid") return;
    try {
      const kept = await choice.keyFor(originOf(target));
      if (kept !== undefined) await claims.claim(claimOf(kept));
    } catch (error) {
      this.#deps.log.warn(describeError(error));
    }
  }

  dispose(): void {
    for (const subscription of this.#subscriptions) subscription.dispose();
  }

  /** Errors are logged only: the keys are out of reach while the system's keyring is locked. */
  #run(matter: Promise<void>): void {
    matter.catch((error: unknown) => this.#deps.log.warn(describeError(error)));
  }

  async #setOrg(): Promise<void> {
    const { session, keys, choice } = this.#deps;
    const { value: state } = session.state;
    const target = choice.target();
    if (this.#isSettingOrg || state.kind !== "live" || target.kind === "invalid") return;
    const key = session.currentClient?.apiKey;
    this.#isSettingOrg = true;
    try {
      const kept = await choice.keyFor(originOf(target));
      // The key may have changed since the session connected.
      if (kept === undefined || kept.key !== key) return;
      const learned = await keys.setOrg(kept, state.org);
      if (learned.name !== kept.name) await choice.keyRenamed(kept.name, learned);
    } finally {
      this.#isSettingOrg = false;
    }
  }

  async #askOnce(origin: string): Promise<void> {
    const { choice, claims, window, executeCommand } = this.#deps;
    const kept = await choice.keyFor(origin);
    if (kept === undefined) return;
    if (!(await claims.claim(claimOf(kept)))) return;
    const [set, choose] = [t("Set API Key…"), t("Choose Another…")];
    const told =
      kept.org === undefined
        ? t("{0} no longer accepts the API key.", originText(origin))
        : t("{0} no longer accepts the API key of {1}.", originText(origin), kept.org.orgName);
    const chosen = await window.showWarningMessage(told, set, choose);
    if (chosen === set) await executeCommand("pipelineRuns.setApiKey");
    if (chosen === choose) await executeCommand("pipelineRuns.chooseKey");
  }
}

/** Claims can be read by others, so the name is a hash of the key. */
function claimOf({ key }: StoredKey): string {
  return `key-refused/${hash("sha256", `key-refused\n${key}`)}`;
}
