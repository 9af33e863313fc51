import type { Disposable, TreeDataProvider, TreeItem, TreeView } from "vscode";
import type { LocalProject } from "../../client/project.ts";
import type { Clock } from "../../machine/clock.ts";
import type { ParsedPipeline } from "../../pipeline/pipeline.ts";
import { mayInclude, parseWithParts } from "../../project/parts.ts";
import { projectFiles, withSharedNames } from "../../project/pipelineFiles.ts";
import type { ProjectNames } from "../session/projectNames.ts";
import type { RunList } from "../session/runList.ts";
import type { Session } from "../session/session.ts";
import { Emitter } from "../window/observable.ts";
import { secondLookTime, type WindowFiles } from "../window/windowFiles.ts";
import { fileTooltip, type PipelineNode, PipelineTree, pipelineViewRow } from "./pipelineTree.ts";
import { type RowContext, type RowItems, rowContext } from "./runRow.ts";
import { type ContextKeys, pipelinesWelcome } from "./welcome.ts";

export interface PipelinesViewDeps {
  readonly view: Pick<TreeView<PipelineNode>, "visible" | "onDidChangeVisibility">;
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
 * The Pipelines view: the pipeline files of the window's projects, with their problems and last results. Files are read
 * again when they change.
 */
export class PipelinesView implements TreeDataProvider<PipelineNode>, Disposable {
  readonly #deps: PipelinesViewDeps;
  readonly #tree = new PipelineTree();
  readonly #changed = new Emitter<PipelineNode | PipelineNode[] | undefined>();
  /** The parsed files by their paths, so that only changed ones are parsed again. */
  readonly #parsed = new Map<string, { readonly text: string; readonly parsed: ParsedPipeline }>();
  readonly #subscriptions: Disposable[];
  #retained: Disposable | undefined;
  #reads = 0;
  /** What was found at the last reading. */
  #found = "";
  #cancelSecondLook = () => {};
  #projects: readonly LocalProject[] = [];

  constructor(deps: PipelinesViewDeps) {
    this.#deps = deps;
    const { view, runs, session, projectNames, files } = deps;
    this.#subscriptions = [
      view.onDidChangeVisibility(() => this.#onVisibility()),
      files.state.observe(() => void this.#read()),
      runs.state.observe(() => this.#takeRuns()),
      session.state.observe(() => this.#updateNames()),
      projectNames.changed.subscribe(() => this.#takeRuns()),
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
    this.#cancelSecondLook();
    for (const subscription of this.#subscriptions) subscription.dispose();
    this.#retained?.dispose();
  }

  #onVisibility(): void {
    const { view, runs, files, signal } = this.#deps;
    if (signal.aborted) return;
    if (!view.visible) {
      this.#retained?.dispose();
      this.#retained = undefined;
      return;
    }
    if (this.#retained !== undefined) return;
    const wanted = [runs.retain(), files.retain()];
    this.#retained = {
      dispose: () => {
        for (const one of wanted) one.dispose();
      },
    };
    void this.#read();
  }

  async #read(): Promise<void> {
    if (this.#retained === undefined) return;
    this.#reads += 1;
    const read = this.#reads;
    const { files, contexts } = this.#deps;
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
    this.#lookAgain(found);
    this.#tree.update(found);
    this.#tree.takeRuns(this.#runs(), this.#deps.projectNames.current);
    this.#changed.emit(undefined);
    contexts.set("pipelineRuns.pipelinesWelcome", pipelinesWelcome(value));
    this.#updateNames();
  }

  /** Reads the files once more a moment later if they have changed. */
  #lookAgain(read: Parameters<PipelineTree["update"]>[0]): void {
    const found = JSON.stringify(
      read.map(({ project, files }) => [
        project.root,
        files.map(({ path, parsed }) => [path, parsed.kind === "invalid" ? parsed.problems : []]),
      ]),
    );
    if (found === this.#found) return;
    this.#found = found;
    this.#cancelSecondLook();
    this.#cancelSecondLook = this.#deps.clock.after(secondLookTime, () => void this.#deps.files.refresh());
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
