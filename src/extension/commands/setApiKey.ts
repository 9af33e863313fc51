import { t } from "@vscode/l10n";
import type { QuickPickItem, window as vscodeWindow } from "vscode";
import { describeError, PipelineError } from "../../contract/errors.ts";
import type { Org } from "../../contract/org.ts";
import { withoutIcons } from "../announce/plainWindow.ts";
import type { ApiKeys, KeptKey } from "../keys/apiKeys.ts";
import type { ServiceChoice } from "../keys/serviceChoice.ts";
import { originOf, originText, type Target } from "../keys/target.ts";
import type { Session } from "../session/session.ts";

export interface ApiKeyDeps {
  readonly keys: ApiKeys;
  readonly choice: ServiceChoice;
  readonly session: Session;
  readonly window: Pick<
    typeof vscodeWindow,
    "showInputBox" | "showInformationMessage" | "showErrorMessage" | "showQuickPick"
  >;
  readonly signal: AbortSignal;
}

type Valid = Exclude<Target, { kind: "invalid" }>;

/** “Set API Key…”: asks for the key of the service in use, tries it, and keeps it in the editor's secret storage. */
export async function setApiKey(deps: ApiKeyDeps): Promise<void> {
  await enterKey(validTarget(deps), deps);
}

/** Asks for a key of a service, and uses it from now on in this workspace. */
export async function enterKey(where: Valid, deps: ApiKeyDeps): Promise<void> {
  const { keys, choice, session, window, signal } = deps;
  const origin = originOf(where);
  const entered = await window.showInputBox({
    title: t("Set API Key"),
    prompt: promptFor(where),
    placeHolder: t("The API key"),
    password: true,
    ignoreFocusOut: true,
    validateInput: (text) =>
      /^[\x21-\x7e]*$/.test(text.trim()) ? undefined : t("A key has no spaces or special letters."),
  });
  const key = entered?.trim() ?? "";
  if (key === "") return;
  let org: Org | undefined;
  let told: string;
  try {
    org = await (await session.clientWith(where, key, signal)).org(signal);
    told = t("The API key is set: {0}, at {1}.", org.orgName, origin);
  } catch (error) {
    if (error instanceof PipelineError && error.type === "unauthorized") {
      const again = t("Try Again");
      const refused = t("{0} does not accept this API key. It was not kept.", origin);
      if ((await window.showErrorMessage(refused, again)) === again) await enterKey(where, deps);
      return;
    }
    // Nothing is lost because a service is down just now.
    told = t("The API key is kept, but could not be tried. {0}", describeError(error));
  }
  const before = await choice.keyOf(origin);
  const added = await keys.add({
    origin,
    baseUrl: where.kind === "remote" ? where.baseUrl : undefined,
    key,
    org,
  });
  await choice.use(added);
  if (before !== undefined && before.name !== added.name && org !== undefined) {
    await settle(before, where, deps);
  }
  session.watch();
  void window.showInformationMessage(told);
}

/** A key of no known org is found its place beside the new one, or goes when the service doesn't accept it any more. */
async function settle(
  kept: KeptKey,
  where: Valid,
  { keys, session, signal }: Pick<ApiKeyDeps, "keys" | "session" | "signal">,
): Promise<void> {
  if (kept.org !== undefined) return;
  try {
    await keys.learn(kept, await (await session.clientWith(where, kept.key, signal)).org(signal));
  } catch (error) {
    if (error instanceof PipelineError && error.type === "unauthorized") await keys.remove(kept);
  }
}

/** “Remove API Key”: forgets a key of the service in use; which one is asked when there are several. */
export async function removeApiKey(deps: ApiKeyDeps): Promise<void> {
  const { keys, choice, window } = deps;
  const target = validTarget(deps);
  const origin = originOf(target);
  const kept = (await keys.list()).filter((key) => key.origin === origin);
  if (kept.length === 0) {
    void window.showInformationMessage(
      target.kind === "embedded"
        ? t("There is no API key for this machine's own service.")
        : t("There is no API key for {0}.", origin),
    );
    return;
  }
  const inUse = await choice.keyOf(origin);
  const picked =
    kept.length === 1
      ? kept[0]
      : (
          await window.showQuickPick(
            kept.map((key) => keyItem(key, key.name === inUse?.name)),
            { title: t("Remove API Key"), placeHolder: t("Pick the key to forget") },
          )
        )?.kept;
  if (picked === undefined) return;
  await keys.remove(picked);
  void window.showInformationMessage(
    target.kind === "embedded"
      ? t("The API key for this machine's own service is removed.")
      : t("The API key for {0} is removed.", origin),
  );
}

interface KeyItem extends QuickPickItem {
  readonly kept: KeptKey;
}

/** A kept key as a row of a list: nothing of the key itself shows. */
export function keyItem(kept: KeptKey, isInUse: boolean): KeyItem {
  return {
    label: `${isInUse ? "$(check)" : "$(key)"} ${orgNameOf(kept)}`,
    description: originText(kept.origin),
    ...(isInUse ? { detail: t("In use in this workspace") } : {}),
    kept,
  };
}

/** The org's name as a label: there, `$(name)` would be an icon. */
function orgNameOf({ org }: KeptKey): string {
  return org === undefined ? t("An org that is not known yet") : withoutIcons(org.orgName);
}

function validTarget({ choice }: ApiKeyDeps): Valid {
  const where = choice.target();
  if (where.kind === "invalid") throw where.error;
  return where;
}

function promptFor(target: Valid): string {
  return target.kind === "remote"
    ? t("For {0}. It is kept in the editor's secret storage, and sent nowhere else.", target.baseUrl.origin)
    : t(
        "This machine's own service needs no key; one entered here acts as another member. For the cloud, set pipelineRuns.baseUrl first.",
      );
}
