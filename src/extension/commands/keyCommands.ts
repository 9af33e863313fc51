import { t } from "@vscode/l10n";
import type { QuickInputButton, QuickPickItem, window as vscodeWindow } from "vscode";
import { parseBaseUrl } from "../../client/service/request.ts";
import { describeError, PipelineError } from "../../contract/errors.ts";
import type { Org } from "../../contract/org.ts";
import type { ApiKeys, StoredKey } from "../keys/apiKeys.ts";
import { originOf, originText, type ServiceChoice, type Target } from "../keys/serviceChoice.ts";
import type { Session } from "../session/session.ts";
import { chosenFrom } from "../window/chosenFrom.ts";
import { QuickPickItemKind } from "../window/editorEnums.ts";
import { withoutIcons } from "../window/plainWindow.ts";

interface ApiKeyDeps {
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

/** “Set API Key…”: asks for a key of the service in use, tests it, and stores it in the editor's secret storage. */
export async function setApiKey(deps: ApiKeyDeps): Promise<void> {
  await enterKey(validTarget(deps), deps);
}

/** Asks for a key of a service, which this workspace then uses. */
async function enterKey(where: Valid, deps: ApiKeyDeps): Promise<void> {
  const { keys, choice, session, window, signal } = deps;
  const origin = originOf(where);
  const entered = await window.showInputBox({
    title: t("Set API Key"),
    prompt: promptFor(where),
    placeHolder: t("The API key"),
    password: true,
    ignoreFocusOut: true,
    validateInput: (text) =>
      /^[\x21-\x7e]*$/.test(text.trim()) ? undefined : t("An API key has no spaces or special characters."),
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
      const refused = t("The API key was not saved: {0} doesn't accept it.", origin);
      if ((await window.showErrorMessage(refused, again)) === again) await enterKey(where, deps);
      return;
    }
    // A key can be stored even while the service is down.
    told = t("The API key was saved, but could not be tested. {0}", describeError(error));
  }
  const before = await choice.keyFor(origin);
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

/** Moves a key of an unknown org to its org, or removes it if the service no longer accepts it. */
async function settle(
  kept: StoredKey,
  where: Valid,
  { keys, session, signal }: Pick<ApiKeyDeps, "keys" | "session" | "signal">,
): Promise<void> {
  if (kept.org !== undefined) return;
  try {
    await keys.setOrg(kept, await (await session.clientWith(where, kept.key, signal)).org(signal));
  } catch (error) {
    if (error instanceof PipelineError && error.type === "unauthorized") await keys.remove(kept);
  }
}

/** “Remove API Key”: removes a key of the service in use; if there are several, the one that the person picks. */
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
  const inUse = await choice.keyFor(origin);
  const picked =
    kept.length === 1
      ? kept[0]
      : (
          await window.showQuickPick(
            kept.map((key) => keyItem(key, key.name === inUse?.name)),
            { title: t("Remove API Key"), placeHolder: t("Select the API key to remove") },
          )
        )?.kept;
  if (picked === undefined) return;
  await keys.remove(picked);
  void window.showInformationMessage(
    target.kind === "embedded"
      ? t("The API key for this machine's own service was removed.")
      : t("The API key for {0} was removed.", origin),
  );
}

/** A stored key as a row, which shows nothing of the key itself. */
function keyItem(kept: StoredKey, isInUse: boolean) {
  return {
    label: `${isInUse ? "$(check)" : "$(key)"} ${withoutIcons(kept.org?.orgName ?? t("Unknown org"))}`,
    description: originText(kept.origin),
    ...(isInUse ? { detail: t("In use in this workspace") } : {}),
    kept,
  };
}

function validTarget({ choice }: ApiKeyDeps): Valid {
  const where = choice.target();
  if (where.kind === "invalid") throw where.error;
  return where;
}

function promptFor(target: Valid): string {
  return target.kind === "remote"
    ? t("For {0}. It is saved in the editor's secret storage and sent nowhere else.", target.baseUrl.origin)
    : t(
        "This machine's own service needs no key; one entered here acts as another member. For the cloud, set pipelineRuns.baseUrl first.",
      );
}

interface ChooseKeyDeps extends ApiKeyDeps {
  readonly window: ApiKeyDeps["window"] & Pick<typeof vscodeWindow, "createQuickPick">;
  /** The button that removes a row's key. */
  readonly removeButton: QuickInputButton;
}

interface Row extends QuickPickItem {
  readonly isInUse?: boolean;
  readonly act?: () => Promise<void>;
  /** The action of the row's button. */
  readonly remove?: () => Promise<void>;
}

/** “Choose API Key…”: chooses the service and the org's key for this workspace. */
export async function chooseKey(deps: ChooseKeyDeps): Promise<void> {
  const act = await pick(await rows(deps), deps);
  await act?.();
}

async function rows(deps: ChooseKeyDeps): Promise<Row[]> {
  const { keys, choice, session, removeButton } = deps;
  const choose = async (key: StoredKey | "own") => {
    await choice.choose(key);
    session.watch();
  };
  const remove = async (key: StoredKey) => {
    if (await isSure(key, deps)) await keys.remove(key);
    await chooseKey(deps);
  };
  const target = choice.target();
  const inUse = target.kind === "invalid" ? undefined : await choice.keyFor(originOf(target));
  const isOwn = target.kind === "embedded" && inUse === undefined;
  const kept = await keys.list();
  return [
    { label: t("Keys"), kind: QuickPickItemKind.separator },
    ...kept.map((key): Row => {
      const isInUse = key.name === inUse?.name;
      const { kept: _, ...row } = keyItem(key, isInUse);
      return { ...row, isInUse, buttons: [removeButton], act: () => choose(key), remove: () => remove(key) };
    }),
    {
      label: `${isOwn ? "$(check)" : "$(vm)"} ${t("This machine's own service")}`,
      description: t("needs no key"),
      ...(isOwn ? { detail: t("In use in this workspace") } : {}),
      isInUse: isOwn,
      act: () => choose("own"),
    },
    { label: "", kind: QuickPickItemKind.separator },
    { label: `$(add) ${t("Add API Key…")}`, act: () => addKey(deps) },
    ...(choice.source() === "chosen"
      ? [
          {
            label: `$(discard) ${t("Use the Settings")}`,
            detail: t("The choice above was made for this workspace."),
            act: () => choice.clear(),
          },
        ]
      : []),
  ];
}

async function pick(items: readonly Row[], { window }: ChooseKeyDeps): Promise<Row["act"]> {
  const box = window.createQuickPick<Row>();
  box.title = t("Choose API Key");
  box.placeholder = t("The service and the key for this workspace");
  box.matchOnDescription = true;
  box.items = items;
  const inUse = items.find(({ isInUse }) => isInUse);
  if (inUse !== undefined) box.activeItems = [inUse];
  let remove: Row["remove"];
  box.onDidTriggerItemButton(({ item }) => {
    remove = item.remove;
    box.hide();
  });
  return (await chosenFrom(box))?.act ?? remove;
}

async function isSure({ org, origin }: StoredKey, { window }: ChooseKeyDeps): Promise<boolean> {
  const remove = t("Remove");
  const question =
    org === undefined
      ? t("Remove the API key for {0}?", origin)
      : t("Remove the API key of {0}, at {1}?", org.orgName, origin);
  const detail = t("The key stays valid at the service. Revoke it there if nobody should use it any more.");
  return (await window.showInformationMessage(question, { modal: true, detail }, remove)) === remove;
}

async function addKey(deps: ChooseKeyDeps): Promise<void> {
  const target = deps.choice.target();
  const address = await deps.window.showInputBox({
    title: t("Add API Key"),
    prompt: t("The service's address"),
    placeHolder: "https://pipelines.example.com",
    value: target.kind === "remote" ? target.baseUrl.href : "",
    ignoreFocusOut: true,
    validateInput: (text) => {
      if (text.trim() === "") return undefined;
      try {
        parseBaseUrl(text);
        return undefined;
      } catch (error) {
        return describeError(error);
      }
    },
  });
  if (address === undefined || address.trim() === "") return;
  await enterKey({ kind: "remote", baseUrl: parseBaseUrl(address) }, deps);
}
