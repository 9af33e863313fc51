import { t } from "@vscode/l10n";
import type { QuickInputButton, QuickPickItem, window as vscodeWindow } from "vscode";
import { parseBaseUrl } from "../../client/http/baseUrl.ts";
import { describeError } from "../../contract/errors.ts";
import type { KeptKey } from "../keys/apiKeys.ts";
import { originOf } from "../keys/target.ts";
import { QuickPickItemKind } from "../window/editorEnums.ts";
import { type ApiKeyDeps, enterKey, keyItem } from "./setApiKey.ts";

export interface ChooseKeyDeps extends ApiKeyDeps {
  readonly window: ApiKeyDeps["window"] & Pick<typeof vscodeWindow, "createQuickPick">;
  /** The button that removes a row's key. */
  readonly removeButton: QuickInputButton;
}

/** What a row does. */
type Action =
  | { readonly kind: "use"; readonly key: KeptKey }
  | { readonly kind: "remove"; readonly key: KeptKey }
  | { readonly kind: "own" }
  | { readonly kind: "add" }
  | { readonly kind: "settings" };

interface Row extends QuickPickItem {
  readonly action?: Action;
}

/** “Choose API Key…”: which service and which org's key this workspace uses. */
export async function chooseKey(deps: ChooseKeyDeps): Promise<void> {
  const { keys, choice, session } = deps;
  const action = await pick(await rows(deps), deps);
  switch (action?.kind) {
    case undefined:
      return;
    case "use":
      await choice.choose(action.key);
      session.watch();
      return;
    case "own":
      await choice.choose("own");
      session.watch();
      return;
    case "settings":
      await choice.forget();
      return;
    case "add":
      await addKey(deps);
      return;
    case "remove":
      if (await isSure(action.key, deps)) await keys.remove(action.key);
      await chooseKey(deps);
      return;
    default:
      action satisfies never;
  }
}

async function rows({ keys, choice, removeButton }: ChooseKeyDeps): Promise<Row[]> {
  const target = choice.target();
  const inUse = target.kind === "invalid" ? undefined : await choice.keyOf(originOf(target));
  const isOwn = target.kind === "embedded" && inUse === undefined;
  const kept = await keys.list();
  const source = choice.source();
  return [
    { label: t("Keys"), kind: QuickPickItemKind.separator },
    ...kept.map((key): Row => {
      const { kept: _, ...row } = keyItem(key, key.name === inUse?.name);
      return { ...row, buttons: [removeButton], action: { kind: "use", key } };
    }),
    {
      label: `${isOwn ? "$(check)" : "$(vm)"} ${t("This machine's own service")}`,
      description: t("needs no key"),
      ...(isOwn ? { detail: t("In use in this workspace") } : {}),
      action: { kind: "own" },
    },
    { label: "", kind: QuickPickItemKind.separator },
    { label: `$(add) ${t("Add API Key…")}`, action: { kind: "add" } },
    ...(source === "chosen"
      ? [
          {
            label: `$(discard) ${t("Let the Settings Decide")}`,
            detail: t("The choice above was made for this workspace."),
            action: { kind: "settings" } as const,
          },
        ]
      : []),
  ];
}

function pick(items: readonly Row[], { window }: ChooseKeyDeps): Promise<Action | undefined> {
  const box = window.createQuickPick<Row>();
  box.title = t("Choose API Key");
  box.placeholder = t("The service and the key for this workspace");
  box.matchOnDescription = true;
  box.items = items;
  const inUse = items.find(({ detail, action }) => detail !== undefined && action?.kind !== "settings");
  if (inUse !== undefined) box.activeItems = [inUse];
  return new Promise((resolve) => {
    const end = (action: Action | undefined) => {
      resolve(action);
      box.hide();
    };
    box.onDidAccept(() => end(box.selectedItems[0]?.action));
    box.onDidTriggerItemButton(({ item: { action } }) => {
      if (action?.kind === "use") end({ kind: "remove", key: action.key });
    });
    box.onDidHide(() => {
      resolve(undefined);
      box.dispose();
    });
    box.show();
  });
}

async function isSure({ org, origin }: KeptKey, { window }: ChooseKeyDeps): Promise<boolean> {
  const remove = t("Remove");
  const question =
    org === undefined
      ? t("Remove the API key for {0}?", origin)
      : t("Remove the API key of {0}, at {1}?", org.orgName, origin);
  const detail = t("It stays valid at the service. Revoke it there when nobody should use it any more.");
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
