import type { Disposable, LogOutputChannel } from "vscode";
import { type LocalProject, registerProject } from "../../client/project.ts";
import { describeError } from "../../contract/errors.ts";
import { Emitter } from "../window/observable.ts";
import type { Session } from "./session.ts";

export interface ProjectNamesDeps {
  readonly session: Pick<Session, "state" | "currentClient">;
  readonly log: Pick<LogOutputChannel, "warn">;
  /** An untrusted workspace is registered with no service. */
  readonly isTrusted: () => boolean;
}

/** The names under which the service knows the window's projects; two folders of one name get different ones. */
export class ProjectNames implements Disposable {
  /** Emitted after names were read from the service. */
  readonly changed = new Emitter<void>();
  readonly #deps: ProjectNamesDeps;
  readonly #ended = new AbortController();
  readonly #names = new Map<string, string>();
  #service: Session["currentClient"];

  constructor(deps: ProjectNamesDeps) {
    this.#deps = deps;
  }

  /**
   * By the projects' folders: the folder's own name until the service reports another. Empty while another service is
   * followed than the one that reported them.
   */
  get current(): ReadonlyMap<string, string> {
    return this.#service === this.#deps.session.currentClient ? this.#names : new Map();
  }

  /** Registers projects that are not known yet, each once a service. */
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
    // One after the other, so that of two folders of one name the same one always comes first.
    for (const project of unknown) {
      const { root, name } = project;
      const known = await registerProject(service, project, signal).catch((error: unknown) => {
        if (!signal.aborted) log.warn(`The service was not told of ${root}: ${describeError(error)}`);
        // A viewer's key may not register. The folder's name serves then, unless another project has it.
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
