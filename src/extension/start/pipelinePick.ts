import { t } from "@vscode/l10n";
import type { QuickPickItem, window as vscodeWindow } from "vscode";
import type { PipelineEntry } from "../../contract/pipelineList.ts";
import { inOneLine } from "../inOneLine.ts";
import { withoutIcons } from "../withoutIcons.ts";

/** What a person chose: a pipeline that is there, or a name that they typed. */
export type Choice =
  | { readonly kind: "listed"; readonly entry: PipelineEntry }
  | { readonly kind: "typed"; readonly name: string };

interface ChoiceItem extends QuickPickItem {
  readonly choice: Choice;
}

/** Lets a person pick a pipeline or type a name. @returns undefined when they left. */
export function pickPipeline(
  entries: readonly PipelineEntry[],
  window: Pick<typeof vscodeWindow, "createQuickPick">,
  title: string,
): Promise<Choice | undefined> {
  const listed = entries.map(listedItem);
  const pick = window.createQuickPick<ChoiceItem>();
  pick.title = title;
  pick.placeholder = entries.length > 0 ? t("Pick a pipeline, or type a name") : t("Type a pipeline's name");
  pick.matchOnDescription = true;
  pick.items = listed;
  pick.onDidChangeValue((value) => {
    const name = value.trim();
    const known = name === "" || entries.some((entry) => entry.name === name);
    pick.items = known ? listed : [...listed, typedItem(name)];
  });
  return new Promise((resolve) => {
    pick.onDidAccept(() => {
      const [item] = pick.selectedItems;
      if (item === undefined) return;
      resolve(item.choice);
      pick.hide();
    });
    pick.onDidHide(() => {
      resolve(undefined);
      pick.dispose();
    });
    pick.show();
  });
}

function listedItem(entry: PipelineEntry): ChoiceItem {
  const broken = entry.problem !== undefined;
  return {
    label: `${broken ? "$(warning) " : ""}${withoutIcons(entry.name)}`,
    description: withoutIcons(entry.project ?? ""),
    detail: withoutIcons(entry.problem === undefined ? (entry.path ?? "") : inOneLine(entry.problem)),
    choice: { kind: "listed", entry },
  };
}

function typedItem(name: string): ChoiceItem {
  return { label: withoutIcons(t("Run “{0}”", name)), alwaysShow: true, choice: { kind: "typed", name } };
}
