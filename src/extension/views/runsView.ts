import { t } from "@vscode/l10n";
import type { Disposable, LogOutputChannel, TreeDataProvider, TreeItem, TreeView } from "vscode";
import { describeError } from "../../contract/errors.ts";
import { quotaLevel, quotaText, secondsToReset } from "../../contract/limits.ts";
import { type Changes, nameOf, type Run } from "../../contract/run.ts";
import { isActive } from "../../contract/runStatus.ts";
import type { Clock } from "../../machine/clock.ts";
import { resumeAt } from "../../project/pipelineFiles.ts";
import { localReset } from "../../text/refusalText.ts";
import { elapsed } from "../../text/time.ts";
import type { RunList } from "../session/runList.ts";
import type { Session } from "../session/session.ts";
import { Emitter, type ObservableValue } from "../window/observable.ts";
import type { WindowFiles } from "../window/windowFiles.ts";
import { filterText, isFiltering, type ViewFilter } from "./filters.ts";
import {
  isRunning,
  type RowContext,
  type RowItems,
  rowContext,
  runTooltip,
  runViewRow,
  stepTooltip,
} from "./runRow.ts";
import {
  type NoteNode,
  type RunNode,
  type RunRowNode,
  RunTree,
  type StepNode,
  untilNextDay,
} from "./runTree.ts";
import { type ContextKeys, runsWelcome } from "./welcome.ts";

export interface RunsViewDeps {
  readonly view: Pick<
    TreeView<RunNode>,
    | "visible"
    | "onDidChangeVisibility"
    | "onDidExpandElement"
    | "onDidCollapseElement"
    | "message"
    | "description"
  >;
  readonly runs: RunList;
  readonly runFilter: ObservableValue<ViewFilter>;
  readonly session: Pick<Session, "state" | "watch">;
  /** Whether the view may start following the service; an untrusted window doesn't start its own. */
  readonly mayFollow: () => boolean;
  readonly files: WindowFiles;
  readonly contexts: ContextKeys;
  readonly items: RowItems;
  /** Shows the view's progress bar until the promise settles. */
  readonly showProgress: (until: Promise<void>) => void;
  readonly clock: Clock;
  readonly log: Pick<LogOutputChannel, "warn">;
  readonly signal: AbortSignal;
}

/**
 * The Runs view: the org's runs with their steps. While visible, it retains the list of runs and updates the active runs' times
 * each second, without a request.
 *
 * A run's seconds are shown in the view's description and in its steps, not in its row: the editor replaces a row together with
 * its buttons, and a click on Cancel would be lost.
 */
export class RunsView implements TreeDataProvider<RunNode>, Disposable {
  readonly #deps: RunsViewDeps;
  readonly #tree = new RunTree();
  readonly #changed = new Emitter<RunNode | RunNode[] | undefined>();
  readonly #steps = new Map<string, StepNode[]>();
  /** The runs whose steps were requested, so that each is read once. */
  readonly #requested = new WeakMap<Run, Promise<NoteNode | undefined>>();
  readonly #subscriptions: Disposable[];
  #retained: readonly Disposable[] | undefined;
  #progress: (() => void) | undefined;
  #cancelTick = () => {};

  constructor(deps: RunsViewDeps) {
    this.#deps = deps;
    const { view, runs, runFilter, session, files } = deps;
    this.#subscriptions = [
      view.onDidChangeVisibility(() => this.#onVisibility()),
      view.onDidExpandElement(({ element }) => unfold(element, true)),
      view.onDidCollapseElement(({ element }) => unfold(element, false)),
      session.state.observe(() => this.#updateView()),
      runs.state.observe(() => this.#redraw()),
      runFilter.observe(() => this.#redraw()),
      files.state.observe(() => this.#updateView()),
    ];
    this.#onVisibility();
  }

  onDidChangeTreeData = (listener: (changed: RunNode | RunNode[] | undefined) => unknown): Disposable =>
    this.#changed.subscribe(listener);

  getTreeItem(node: RunNode): TreeItem {
    return this.#deps.items.treeItem(runViewRow(node, this.#rowContext()));
  }

  async resolveTreeItem(item: TreeItem, node: RunNode): Promise<TreeItem> {
    const { markdown } = this.#deps.items;
    if (node.kind === "run") {
      await this.#readSteps(node);
      const changes = await this.#changesOf(node.run);
      item.tooltip = markdown(runTooltip(node.run, this.#rowContext(), changes));
    }
    if (node.kind === "step") item.tooltip = markdown(stepTooltip(node.step, this.#rowContext()));
    return item;
  }

  async getChildren(node?: RunNode): Promise<RunNode[]> {
    if (node === undefined) return [...this.#tree.roots];
    if (node.kind === "group") return [...node.children];
    return node.kind === "run" ? this.#stepsOf(node) : [];
  }

  dispose(): void {
    for (const subscription of this.#subscriptions) subscription.dispose();
    for (const one of this.#retained ?? []) one.dispose();
    this.#cancelTick();
    this.#progress?.();
  }

  #onVisibility(): void {
    const { view, runs, session, files, mayFollow, signal } = this.#deps;
    if (signal.aborted) return;
    if (!view.visible) {
      for (const one of this.#retained ?? []) one.dispose();
      this.#retained = undefined;
      this.#cancelTick();
      this.#progress?.();
      this.#progress = undefined;
      return;
    }
    this.#retained ??= [runs.retain(), files.retain()];
    if (session.state.value.kind === "idle" && mayFollow()) session.watch();
    this.#redraw();
  }

  #redraw(): void {
    const { runs, runFilter } = this.#deps;
    const redraw = this.#tree.update(runs.state.value, this.#rowContext().serviceNow, runFilter.value);
    for (const runId of this.#steps.keys()) if (!this.#tree.has(runId)) this.#steps.delete(runId);
    if (redraw === "all") this.#changed.emit(undefined);
    else if (redraw.length > 0) this.#changed.emit([...redraw]);
    this.#updateView();
    this.#tick();
  }

  /** Updates what isn't in a row: the welcome, the message about a used-up day, and the progress. */
  #updateView(): void {
    const { view, runs, session, files, contexts, mayFollow, signal, showProgress } = this.#deps;
    const state = session.state.value;
    // A visible view follows the service, even after its settings changed.
    if (view.visible && state.kind === "idle") {
      queueMicrotask(() => {
        if (signal.aborted || !view.visible || session.state.value.kind !== "idle") return;
        if (mayFollow()) session.watch();
      });
    }
    contexts.set("pipelineRuns.runsWelcome", runsWelcome(state, runs.state.value, files.state.value));
    const message = this.#message();
    if (message !== (view.message ?? "")) view.message = message;
    const description = this.#description();
    if (description !== (view.description ?? "")) view.description = description;
    const isWaiting =
      view.visible &&
      (state.kind === "connecting" || (state.kind === "live" && runs.state.value.kind === "unknown"));
    if (isWaiting && this.#progress === undefined) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#progress = resolve;
      showProgress(promise);
    } else if (!isWaiting) {
      this.#progress?.();
      this.#progress = undefined;
    }
  }

  /** The filter, and how long the active run has been running, or how many are running. */
  #description(): string {
    return [filterText(this.#deps.runFilter.value), this.#progressText()]
      .filter((text) => text !== "")
      .join(" · ");
  }

  #progressText(): string {
    const [only, other] = this.#tree.activeRuns;
    if (only === undefined) return "";
    if (other !== undefined) return t("{0} running", this.#tree.activeRuns.length);
    const { createdAt } = only.run;
    if (createdAt === undefined) return nameOf(only.run);
    return t("{0}: {1}", nameOf(only.run), elapsed(this.#rowContext().serviceNow - Date.parse(createdAt)));
  }

  #message(): string {
    const { runs, runFilter, session } = this.#deps;
    const state = session.state.value;
    const isFiltered = runs.state.value.kind === "listed" && isFiltering(runFilter.value);
    if (isFiltered && !this.#tree.hasRuns) return t("No listed run matches the filter.");
    if (state.kind !== "live" || quotaLevel(state.org) !== "used-up") return "";
    // The message would hide the welcome of an empty view.
    if (runs.state.value.kind !== "listed" || runs.state.value.runs.length === 0) return "";
    const { serviceNow, now } = this.#rowContext();
    const reset = localReset(secondsToReset(serviceNow), now);
    const text =
      reset === undefined
        ? t("The count starts again at 00:00 UTC.")
        : t("The count starts again at 00:00 UTC ({0} your time).", reset);
    return `${quotaText(state.org)}. ${text}`;
  }

  /** Updates the times of active runs, and regroups the rows when a day begins. */
  #tick(): void {
    this.#cancelTick();
    const { view, runs, clock, signal } = this.#deps;
    if (!view.visible || runs.state.value.kind !== "listed" || signal.aborted) return;
    const { serviceNow, now } = this.#rowContext();
    const nextDay = untilNextDay(serviceNow, now);
    const { activeRuns } = this.#tree;
    const pause = activeRuns.length > 0 ? Math.min(1000, nextDay) : nextDay;
    this.#cancelTick = clock.after(pause, () => {
      if (pause === nextDay) this.#changed.emit(undefined);
      else this.#moveSteps();
      this.#redraw();
    });
  }

  /** Redraws the running steps that are unfolded. */
  #moveSteps(): void {
    const steps = this.#tree.activeRuns.flatMap(({ runId }) => this.#steps.get(runId) ?? []);
    const moving = steps.filter(({ step }) => isRunning(step));
    if (moving.length > 0) this.#changed.emit(moving);
  }

  async #stepsOf(node: RunRowNode): Promise<RunNode[]> {
    const { runId } = node;
    const fault = await this.#readSteps(node);
    if (fault !== undefined) return [fault];
    const steps = node.run.steps;
    if (steps === undefined || steps.length === 0) return [this.#nothing(node.run)];
    const { run } = node;
    const { value } = this.#deps.files.state;
    const projects = value.kind === "pipelines" ? value.projects : [];
    const root = projects.find(({ name }) => name === run.project)?.root;
    const first = (await resumeAt(run, root))?.index;
    const before = this.#steps.get(runId) ?? [];
    const nodes = steps.map((step, index): StepNode => {
      const mayBegin = index === first;
      const known = before[index] ?? { kind: "step", runId, pipeline: nameOf(run), index, step, mayBegin };
      return Object.assign(known, { step, mayBegin });
    });
    this.#steps.set(runId, nodes);
    return nodes;
  }

  /** Reads a run's steps, unless they are known. @returns a note if they can't be read. */
  async #readSteps({ run, runId }: RunRowNode): Promise<NoteNode | undefined> {
    if (run.steps !== undefined) return undefined;
    let asked = this.#requested.get(run);
    if (asked === undefined) {
      asked = this.#askForSteps(runId);
      this.#requested.set(run, asked);
    }
    const fault = await asked;
    // Tried again when the run is unfolded or hovered again.
    if (fault !== undefined) this.#requested.delete(run);
    return fault;
  }

  /** What may explain a run that didn't succeed, if the service reports it. */
  async #changesOf(run: Run): Promise<Changes | undefined> {
    if (isActive(run) || run.status === "succeeded") return undefined;
    const { runs, signal } = this.#deps;
    return runs.readChanges(run.runId, signal).catch(() => undefined);
  }

  /** @returns a note if the steps can't be read. */
  async #askForSteps(runId: string): Promise<NoteNode | undefined> {
    const { runs, signal, log } = this.#deps;
    try {
      await runs.readSteps(runId, signal);
      return undefined;
    } catch (error) {
      const why = describeError(error);
      if (!signal.aborted) log.warn(`${runId}: ${why}`);
      return { kind: "note", runId, text: t("The steps can't be read: {0}", why), isFault: true };
    }
  }

  #nothing(run: Run): NoteNode {
    const text = isActive(run) ? t("No step has started") : t("No step ran");
    return { kind: "note", runId: run.runId, text, isFault: false };
  }

  #rowContext(): RowContext {
    const { runs, clock } = this.#deps;
    return { ...rowContext(runs.state.value, clock.now()), namesProjects: this.#tree.namesProjects };
  }
}

function unfold(node: RunNode, isUnfolded: boolean): void {
  if (node.kind === "run") node.isUnfolded = isUnfolded;
}
