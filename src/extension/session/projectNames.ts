import type { Disposable, LogOutputChannel } from "vscode";
import { type LocalProject, registerProject } from "../../client/project.ts";
import { describeError } from "../../contract/errors.ts";
import { Emitter } from "../window/observable.ts";
import type { Session } from "./session.ts";

export interface ProjectNamesDeps {
  readonly session: Pick<Session, "state" | "currentClient">;
  readonly log: Pick<LogOutputChannel, "warn">;
  /** A workspace that isn't trusted is told to no service. */
  readonly isTrusted: () => boolean;
}

/** The names by which the service knows the window's projects: another folder may have had a name first. */
export class ProjectNames implements Disposable {
  /** Told when the service has been asked for some. */
  readonly changed = new Emitter<void>();
  readonly #deps: ProjectNamesDeps;
  readonly #ended = new AbortController();
  readonly #names = new Map<string, string>();
  #service: Session["currentClient"];

  constructor(deps: ProjectNamesDeps) {
    this.#deps = deps;
  }

  /**
   * By the projects' folders; a folder's own name until the service has told. A project has none while another service is
   * followed than the one that told, and where its own name may be another one's.
   */
  get current(): ReadonlyMap<string, string> {
    return this.#service === this.#deps.session.currentClient ? this.#names : new Map();
  }

  /** Asks for what isn't known yet, each project once for each service. */
  async update(projects: readonly LocalProject[]): Promise<void> {
    const { session, log, isTrusted } = this.#deps;
    const service = session.state.value.kind === "live" ? session.currentClient : undefined;
    if (service === undefined || !isTrusted()) return;
    if (service !== this.#service) this.#names.clear();
    this.#service = service;
    const unknown = projects.filter(({ root }) => !this.#names.has(root));
    if (unknown.length === 0) return;
    for (const { root, name } of unknown) this.#names.set(root, name);
    const { signal } = this.#ended;
    // One after the other, so that of two folders of one name always the same comes first.
    for (const project of unknown) {
      const { root, name } = project;
      const known = await registerProject(service, project, signal).catch((error: unknown) => {
        if (!signal.aborted) log.warn(`The service was not told of ${root}: ${describeError(error)}`);
        // A viewer's key may not do so. Its runs are told by the folder's name, unless another project has that.
        return projects.some((other) => other.root !== root && other.name === name) ? undefined : project;
      });
      if (signal.aborted || this.#service !== service) return;
      if (known === undefined) this.#names.delete(root);
      else this.#names.set(root, known.name);
    }
    this.changed.emit();
  }

  dispose(): void {
    this.#ended.abort();
  }
}
