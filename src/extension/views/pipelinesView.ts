import type { Disposable, TreeDataProvider, TreeItem, TreeView } from "vscode";
import type { LocalProject } from "../../client/project.ts";
import type { Clock } from "../../machine/clock.ts";
import type { ParsedPipeline } from "../../pipeline/pipeline.ts";
import {
  mayInclude,
  type ProjectFile,
  parseWithParts,
  projectFiles,
  withSharedNames,
} from "../../project/pipelineFiles.ts";
import type { ProjectNames } from "../session/projectNames.ts";
import type { RunList } from "../session/runList.ts";
import type { Session } from "../session/session.ts";
import { Emitter, type ObservableValue } from "../window/observable.ts";
import type { WindowFiles } from "../window/windowFiles.ts";
import type { TagFilter } from "./filters.ts";
import {
  fileTooltip,
  type PipelineNode,
  PipelineTree,
  pipelineViewRow,
  type ReadProject,
  tagsOf,
} from "./pipelineTree.ts";
import { type RowContext, type RowItems, rowContext } from "./runRow.ts";
import { type ContextKeys, pipelinesWelcome } from "./welcome.ts";

export interface PipelinesViewDeps {
  readonly view: Pick<TreeView<PipelineNode>, "visible" | "onDidChangeVisibility" | "description">;
  readonly tagFilter: ObservableValue<TagFilter>;
  readonly runs: RunList;
  readonly session: Pick<Session, "state">;
  readonly projectNames: ProjectNames;
  readonly files: WindowFiles;
  readonly contexts: ContextKeys;
  readonly items: RowItems;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/**
 * The Pipelines view: the pipeline files of the window's projects, with their problems and last results. Files are read again
 * when they change.
 */
export class PipelinesView implements TreeDataProvider<PipelineNode>, Disposable {
  readonly #deps: PipelinesViewDeps;
  readonly #tree = new PipelineTree();
  readonly #changed = new Emitter<PipelineNode | PipelineNode[] | undefined>();
  /** The parsed files by path, so that only changed ones are parsed again. */
  readonly #parsed = new Map<string, { readonly text: string; readonly parsed: ParsedPipeline }>();
  readonly #subscriptions: Disposable[];
  #retained: readonly Disposable[] | undefined;
  #reads = 0;
  #projects: readonly LocalProject[] = [];
  /** As last read, regardless of their tags. */
  #found: readonly ReadProject[] = [];

  constructor(deps: PipelinesViewDeps) {
    this.#deps = deps;
    const { view, runs, session, projectNames, files, tagFilter } = deps;
    this.#subscriptions = [
      view.onDidChangeVisibility(() => this.#onVisibility()),
      files.state.observe(() => void this.#read()),
      runs.state.observe(() => this.#takeRuns()),
      session.state.observe(() => this.#updateNames()),
      projectNames.changed.subscribe(() => this.#takeRuns()),
      tagFilter.observe(() => this.#redraw()),
    ];
    this.#onVisibility();
  }

  onDidChangeTreeData = (
    listener: (changed: PipelineNode | PipelineNode[] | undefined) => unknown,
  ): Disposable => this.#changed.subscribe(listener);

  getTreeItem(node: PipelineNode): TreeItem {
    return this.#deps.items.treeItem(pipelineViewRow(node, this.#rowContext()));
  }

  resolveTreeItem(item: TreeItem, node: PipelineNode): TreeItem {
    if (node.kind === "file") item.tooltip = this.#deps.items.markdown(fileTooltip(node));
    return item;
  }

  getChildren(node?: PipelineNode): PipelineNode[] {
    return [...(node === undefined ? this.#tree.roots : this.#tree.childrenOf(node))];
  }

  dispose(): void {
    this.#reads += 1;
    for (const subscription of this.#subscriptions) subscription.dispose();
    for (const one of this.#retained ?? []) one.dispose();
  }

  #onVisibility(): void {
    const { view, runs, files, signal } = this.#deps;
    if (signal.aborted) return;
    if (!view.visible) {
      for (const one of this.#retained ?? []) one.dispose();
      this.#retained = undefined;
      return;
    }
    if (this.#retained !== undefined) return;
    this.#retained = [runs.retain(), files.retain()];
    void this.#read();
  }

  async #read(): Promise<void> {
    if (this.#retained === undefined) return;
    this.#reads += 1;
    const read = this.#reads;
    const { files, contexts, tagFilter } = this.#deps;
    const { value } = files.state;
    this.#projects = value.kind === "pipelines" ? value.projects : [];
    const found = await Promise.all(
      this.#projects.map(async (project) => ({
        project,
        files: withSharedNames(await projectFiles(project.root, (text, path) => this.#parse(text, path))),
      })),
    );
    // A later read has overtaken this one.
    if (read !== this.#reads) return;
    this.#found = found;
    const known = [...new Set(found.flatMap((project) => project.files.flatMap(tagsOf)))].sort();
    contexts.set("pipelineRuns.pipelinesWelcome", pipelinesWelcome(value));
    contexts.set("pipelineRuns.hasTags", known.length > 0);
    tagFilter.set({ known, chosen: tagFilter.value.chosen.filter((tag) => known.includes(tag)) });
    this.#updateNames();
  }

  /** Shows the files with a chosen tag, and broken ones, whose tags aren't known. */
  #redraw(): void {
    const { view, tagFilter, projectNames } = this.#deps;
    const { chosen } = tagFilter.value;
    const isShown = (file: ProjectFile) =>
      chosen.length === 0 ||
      file.parsed.kind === "invalid" ||
      tagsOf(file).some((tag) => chosen.includes(tag));
    this.#tree.update(this.#found.map(({ project, files }) => ({ project, files: files.filter(isShown) })));
    this.#tree.takeRuns(this.#runs(), projectNames.current);
    this.#changed.emit(undefined);
    view.description = chosen.join(", ");
  }

  #parse(text: string, path: string): ParsedPipeline {
    const before = this.#parsed.get(path);
    if (before?.text === text && !mayInclude(text)) return before.parsed;
    const parsed = parseWithParts(text, path);
    this.#parsed.set(path, { text, parsed });
    return parsed;
  }

  #takeRuns(): void {
    const changed = this.#tree.takeRuns(this.#runs(), this.#deps.projectNames.current);
    if (changed.length > 0) this.#changed.emit([...changed]);
  }

  #updateNames(): void {
    if (this.#retained !== undefined) void this.#deps.projectNames.update(this.#projects);
  }

  #runs() {
    const { value } = this.#deps.runs.state;
    return value.kind === "listed" ? value.runs : [];
  }

  #rowContext(): RowContext {
    return rowContext(this.#deps.runs.state.value, this.#deps.clock.now());
  }
}
