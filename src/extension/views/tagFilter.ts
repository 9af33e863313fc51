import { t } from "@vscode/l10n";
import type { window as vscodeWindow } from "vscode";
import type { ObservableValue } from "../window/observable.ts";

/** The tags by which the Pipelines view can be filtered, and those that were chosen; none chosen shows every file. */
export interface TagFilter {
  readonly known: readonly string[];
  readonly chosen: readonly string[];
}

interface FilterPipelinesDeps {
  readonly tagFilter: ObservableValue<TagFilter>;
  readonly window: Pick<typeof vscodeWindow, "showQuickPick">;
}

/** “Filter by Tag…”: chooses whose files the Pipelines view shows. */
export async function filterPipelines({ tagFilter, window }: FilterPipelinesDeps): Promise<void> {
  const { known, chosen } = tagFilter.value;
  const items = known.map((label) => ({ label, picked: chosen.includes(label) }));
  const picked = await window.showQuickPick(items, {
    canPickMany: true,
    title: t("Filter Pipelines by Tag"),
    placeHolder: t("Select what the view shows; nothing selected shows all"),
  });
  if (picked !== undefined) tagFilter.set({ known, chosen: picked.map(({ label }) => label) });
}
