import { basename } from "node:path";
import type { Disposable, LogOutputChannel, Uri } from "vscode";
import { findProject, registerProject } from "../../client/project.ts";
import { describeError } from "../../contract/errors.ts";
import { Observed } from "../observed.ts";
import type { Session } from "../session.ts";

/** A project of the window: the folder whose `pipelines/` holds pipeline files, or would. */
export interface FileProject {
  readonly root: Uri;
  /** As the folder is called; a service that knew another of this name first has its own name for it. */
  readonly name: string;
}

interface ProjectsDeps {
  readonly folders: () => readonly Uri[];
  readonly fileUri: (path: string) => Uri;
}

/** The projects of the window's folders, each once. A folder inside a project belongs to it, as for the tool. */
export class FileProjects implements Disposable {
  readonly current = new Observed<readonly FileProject[]>([]);
  readonly #deps: ProjectsDeps;
  #looks = 0;

  constructor(deps: ProjectsDeps) {
    this.#deps = deps;
  }

  async look(): Promise<void> {
    this.#looks += 1;
    const look = this.#looks;
    const found = await Promise.all(this.#deps.folders().map((folder) => this.#projectOf(folder)));
    // Another look has begun meanwhile, of folders that are newer.
    if (look !== this.#looks) return;
    this.current.set([...new Map(found.map((project) => [project.root.toString(), project])).values()]);
  }

  /** The project that a file is a pipeline of; undefined for any other file. */
  projectOf(uri: Uri): FileProject | undefined {
    return this.current.value.find(({ root }) => isPipelineOf(root, uri));
  }

  dispose(): void {
    this.#looks += 1;
  }

  async #projectOf(folder: Uri): Promise<FileProject> {
    // What isn't on this machine is looked at no further.
    const found = folder.scheme === "file" ? await findProject(folder.fsPath) : undefined;
    const root =
      found === undefined || found.root === folder.fsPath ? folder : this.#deps.fileUri(found.root);
    return { root, name: found?.name ?? basename(folder.path) };
  }
}

/** `pipelines/<name>.yaml` right under the project's root, and nothing else. */
function isPipelineOf(root: Uri, uri: Uri): boolean {
  if (uri.scheme !== root.scheme || uri.authority !== root.authority) return false;
  const folder = `${root.path.replace(/\/$/, "")}/pipelines/`;
  return uri.path.startsWith(folder) && /^[^/]+\.yaml$/.test(uri.path.slice(folder.length));
}

interface KnownProjectsDeps {
  readonly session: Pick<Session, "followed">;
  readonly log: Pick<LogOutputChannel, "warn">;
  /** A workspace that isn't trusted is told to no service. */
  readonly isTrusted: () => boolean;
  readonly onChange: () => void;
}

/** The names by which the service knows the window's projects: another folder may have had a name first. */
export class KnownProjects implements Disposable {
  readonly #deps: KnownProjectsDeps;
  readonly #ended = new AbortController();
  #service: Session["followed"];
  /** By the project's root; the folder's own name until the service has told. */
  readonly #names = new Map<string, string>();

  constructor(deps: KnownProjectsDeps) {
    this.#deps = deps;
  }

  nameOf({ root, name }: FileProject): string {
    return this.#names.get(root.toString()) ?? name;
  }

  /** Asks for what isn't known yet, each project once for each service. */
  look(projects: readonly FileProject[]): void {
    const { followed } = this.#deps.session;
    if (followed !== this.#service) this.#names.clear();
    this.#service = followed;
    if (followed === undefined || !this.#deps.isTrusted()) return;
    const unknown = projects.filter(
      ({ root }) => root.scheme === "file" && !this.#names.has(root.toString()),
    );
    for (const { root, name } of unknown) this.#names.set(root.toString(), name);
    void this.#ask(followed, unknown);
  }

  dispose(): void {
    this.#ended.abort();
  }

  async #ask(service: NonNullable<Session["followed"]>, projects: readonly FileProject[]): Promise<void> {
    const { signal } = this.#ended;
    // One after the other, so that of two folders of one name always the same comes first.
    for (const { root, name } of projects) {
      try {
        const known = await registerProject(service, { name, root: root.fsPath }, signal);
        if (signal.aborted || this.#service !== service) return;
        if (known.name === name) continue;
        this.#names.set(root.toString(), known.name);
        this.#deps.onChange();
      } catch (error) {
        if (signal.aborted) return;
        this.#deps.log.warn(`The service was not told of ${root.fsPath}: ${describeError(error)}`);
      }
    }
  }
}
