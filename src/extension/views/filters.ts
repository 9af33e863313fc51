import { t } from "@vscode/l10n";
import type { QuickPickItem, window as vscodeWindow } from "vscode";
import { nameOf, type Run } from "../../contract/run.ts";
import { isActive, runStatuses } from "../../contract/runStatus.ts";
import type { RunList } from "../session/runList.ts";
import { QuickPickItemKind } from "../window/editorEnums.ts";
import type { ObservableValue } from "../window/observable.ts";

/** Which runs the Runs view shows: by status, by pipeline, and only one's own. Empty parts show all. */
export interface ViewFilter {
  readonly statuses: readonly string[];
  readonly pipelines: readonly string[];
  readonly isMine: boolean;
}

export const everyRun: ViewFilter = { statuses: [], pipelines: [], isMine: false };

export function isFiltering({ statuses, pipelines, isMine }: ViewFilter): boolean {
  return statuses.length > 0 || pipelines.length > 0 || isMine;
}

/** @param me the id of the window's key. */
export function passes(run: Run, { statuses, pipelines, isMine }: ViewFilter, me: string): boolean {
  if (isMine && run.actor !== me) return false;
  if (pipelines.length > 0 && !pipelines.includes(nameOf(run))) return false;
  return (
    statuses.length === 0 ||
    statuses.includes(run.status) ||
    (isActive(run) && statuses.includes(activeStatus))
  );
}

/** Stands for the statuses of all active runs, like `in-work` in the tool. */
const activeStatus = "in-work";

/** The filter for the view's title: `failed, timed-out, checkout, mine`. */
export function filterText({ statuses, pipelines, isMine }: ViewFilter): string {
  return [...statuses.map(statusText), ...pipelines, ...(isMine ? [t("yours")] : [])].join(", ");
}

function statusText(status: string): string {
  return status === activeStatus ? t("active") : status;
}

interface FilterRunsDeps {
  readonly runs: Pick<RunList, "state">;
  readonly runFilter: ObservableValue<ViewFilter>;
  readonly window: Pick<typeof vscodeWindow, "showQuickPick">;
}

interface FilterItem extends QuickPickItem {
  readonly part?: Partial<ViewFilter>;
}

/** “Filter Runs…”: chooses which of the listed runs the view shows. Choosing none shows all. */
export async function filterRuns({ runs, runFilter, window }: FilterRunsDeps): Promise<void> {
  const { statuses, pipelines, isMine } = runFilter.value;
  const listed = runs.state.value.kind === "listed" ? runs.state.value.runs : [];
  const names = [...new Set([...listed.map(nameOf), ...pipelines])].sort();
  const known = [activeStatus, ...runStatuses.filter((status) => !isActive({ status }))];
  const items: FilterItem[] = [
    { label: t("Started by"), kind: QuickPickItemKind.separator },
    { label: t("Only yours"), picked: isMine, part: { isMine: true } },
    { label: t("Status"), kind: QuickPickItemKind.separator },
    ...known.map((status) => ({
      label: statusText(status),
      picked: statuses.includes(status),
      part: { statuses: [status] },
    })),
    { label: t("Pipeline"), kind: QuickPickItemKind.separator },
    ...names.map((name) => ({ label: name, picked: pipelines.includes(name), part: { pipelines: [name] } })),
  ];
  const chosen = await window.showQuickPick(items, {
    canPickMany: true,
    title: t("Filter Runs"),
    placeHolder: t("Select what the view shows; nothing selected shows all"),
  });
  if (chosen === undefined) return;
  runFilter.set({
    statuses: chosen.flatMap(({ part }) => part?.statuses ?? []),
    pipelines: chosen.flatMap(({ part }) => part?.pipelines ?? []),
    isMine: chosen.some(({ part }) => part?.isMine),
  });
}

/** The tags by which the Pipelines view can be filtered, and the chosen ones; if none is chosen, every file is shown. */
export interface TagFilter {
  readonly known: readonly string[];
  readonly chosen: readonly string[];
}

interface FilterPipelinesDeps {
  readonly tagFilter: ObservableValue<TagFilter>;
  readonly window: Pick<typeof vscodeWindow, "showQuickPick">;
}

/** “Filter by Tag…”: chooses by tag which files the Pipelines view shows. */
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
