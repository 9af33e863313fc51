import type { Disposable } from "vscode";
import { findProjects, type LocalProject } from "../../client/project.ts";
import { ObservableValue } from "./observable.ts";

/** The window's projects, or why it has none. */
export type WindowFilesState =
  | { readonly kind: "unknown" }
  | { readonly kind: "no-folder" }
  /** Its folders aren't on this machine. */
  | { readonly kind: "virtual" }
  /** Its files aren't read until the person trusts the workspace. */
  | { readonly kind: "untrusted" }
  | { readonly kind: "no-pipelines" }
  | { readonly kind: "pipelines"; readonly projects: readonly [LocalProject, ...LocalProject[]] };

export interface WindowFilesDeps {
  /** The number of the window's folders, and the paths of those on this machine. */
  readonly folders: () => { readonly count: number; readonly local: readonly string[] };
  readonly isTrusted: () => boolean;
  /** Calls back when folders are added or removed, the workspace is trusted, or its pipeline files change. */
  readonly watch: (onChange: () => void) => Disposable;
  /** Calls back when files change in a project that contains a folder of the window. */
  readonly watchRoot: (root: string, onChange: () => void) => Disposable;
}

/** Finds the projects of the window's folders, again whenever they may have changed. */
export class WindowFiles implements Disposable {
  /** A new object, even with the same projects, means that their files may have changed. */
  readonly state = new ObservableValue<WindowFilesState>({ kind: "unknown" });
  readonly #deps: WindowFilesDeps;
  #retainCount = 0;
  #watching: Disposable | undefined;
  readonly #roots = new Map<string, Disposable>();
  #refreshCount = 0;

  constructor(deps: WindowFilesDeps) {
    this.#deps = deps;
  }

  /** Keeps the state up to date until the returned object is disposed. */
  retain(): Disposable {
    this.#retainCount += 1;
    this.#watching ??= this.#deps.watch(() => void this.refresh());
    if (this.#retainCount === 1) void this.refresh();
    return {
      dispose: () => {
        this.#retainCount -= 1;
        if (this.#retainCount === 0) this.#unwatch();
      },
    };
  }

  async refresh(): Promise<void> {
    this.#refreshCount += 1;
    const look = this.#refreshCount;
    const found = await this.#find();
    if (look !== this.#refreshCount) return;
    this.#watchRoots(found);
    this.state.set(found);
  }

  dispose(): void {
    this.#refreshCount += 1;
    this.#unwatch();
  }

  #unwatch(): void {
    this.#watching?.dispose();
    this.#watching = undefined;
    for (const watching of this.#roots.values()) watching.dispose();
    this.#roots.clear();
  }

  #watchRoots(found: WindowFilesState): void {
    if (this.#retainCount === 0 || found.kind !== "pipelines") return;
    const { local } = this.#deps.folders();
    for (const { root } of found.projects) {
      if (local.includes(root) || this.#roots.has(root)) continue;
      this.#roots.set(
        root,
        this.#deps.watchRoot(root, () => void this.refresh()),
      );
    }
  }

  async #find(): Promise<WindowFilesState> {
    const { count, local } = this.#deps.folders();
    if (count === 0) return { kind: "no-folder" };
    if (local.length === 0) return { kind: "virtual" };
    if (!this.#deps.isTrusted()) return { kind: "untrusted" };
    const [first, ...others] = await findProjects(local);
    return first === undefined
      ? { kind: "no-pipelines" }
      : { kind: "pipelines", projects: [first, ...others] };
  }
}
