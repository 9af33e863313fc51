import { basename } from "node:path";
import * as vscode from "vscode";
import { findProject, placeOf } from "../../client/project.ts";
import { ObservableValue } from "../window/observable.ts";

/** A project of the window: a folder with `pipelines/`, or one that would hold it. */
export interface FileProject {
  readonly root: vscode.Uri;
  /** The folder's name; a service may know the project by another. */
  readonly name: string;
  /** Whether another folder of the window leads to it too, under which its unopened files are read. */
  readonly isRepeated: boolean;
}

/** The projects of the window's folders, each once. A folder inside a project belongs to it, as for the tool. */
export class FileProjects implements vscode.Disposable {
  readonly current = new ObservableValue<readonly FileProject[]>([]);
  #refreshCount = 0;

  async refresh(): Promise<void> {
    this.#refreshCount += 1;
    const look = this.#refreshCount;
    const folders = vscode.workspace.workspaceFolders ?? [];
    const found = await Promise.all(folders.map(({ uri }) => projectAt(uri)));
    const projects = [...new Map(found.map((project) => [project.root.toString(), project])).values()];
    // Also of those without pipelines, which may get some.
    const places = projects.map(({ root }) =>
      root.scheme === "file" ? placeOf(root.fsPath) : root.toString(),
    );
    // A later refresh has begun.
    if (look !== this.#refreshCount) return;
    this.current.set(
      projects.map((project, index) => ({
        ...project,
        isRepeated: places.indexOf(places[index] ?? "") < index,
      })),
    );
  }

  /** The project of a pipeline file; undefined for any other file. */
  projectOf(uri: vscode.Uri): FileProject | undefined {
    return this.current.value.find(({ root }) => /^pipelines\/[^/]+\.yaml$/.test(pathIn(root, uri) ?? ""));
  }

  /** The project whose folder contains a file. */
  projectAround(uri: vscode.Uri): FileProject | undefined {
    return this.current.value.find(({ root }) => pathIn(root, uri) !== undefined);
  }

  dispose(): void {
    this.#refreshCount += 1;
  }
}

async function projectAt(folder: vscode.Uri) {
  // Folders elsewhere are not searched.
  const found = folder.scheme === "file" ? await findProject(folder.fsPath) : undefined;
  const root = found === undefined || found.root === folder.fsPath ? folder : vscode.Uri.file(found.root);
  return { root, name: found?.name ?? basename(folder.path) };
}

/** A file's path relative to a folder; undefined for a file elsewhere. */
export function pathIn(root: vscode.Uri, uri: vscode.Uri): string | undefined {
  if (uri.scheme !== root.scheme || uri.authority !== root.authority) return undefined;
  const folder = `${root.path.replace(/\/$/, "")}/`;
  return uri.path.startsWith(folder) ? uri.path.slice(folder.length) : undefined;
}
