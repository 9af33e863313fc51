import type { Disposable, LogOutputChannel } from "vscode";
import { type LocalProject, placeOf, registerProject } from "../../client/project.ts";
import type { ServiceClient } from "../../client/service/client.ts";
import { isSameService } from "../../client/service/failedRequest.ts";
import { describeError } from "../../contract/errors.ts";
import { Emitter } from "../window/observable.ts";
import type { Session } from "./session.ts";

export interface ProjectNamesDeps {
  readonly session: Pick<Session, "state" | "currentClient">;
  readonly log: Pick<LogOutputChannel, "warn">;
  /** An untrusted workspace isn't registered with any service. */
  readonly isTrusted: () => boolean;
}

/** The names by which the service knows the window's projects; two folders of the same name get different ones. */
export class ProjectNames implements Disposable {
  /** Emitted after names were read from the service. */
  readonly changed = new Emitter<void>();
  readonly #deps: ProjectNamesDeps;
  readonly #ended = new AbortController();
  readonly #names = new Map<string, string>();
  /** By the projects' folders: the service's paths of them, and where both led then. */
  readonly #served = new Map<string, { readonly root: string; readonly places: string }>();
  readonly #registered = new Map<string, Promise<LocalProject>>();
  /** The service that gave these names. */
  #service: ServiceClient | undefined;

  constructor(deps: ProjectNamesDeps) {
    this.#deps = deps;
  }

  /**
   * By the projects' folders: the folder's own name until the service reports another. Empty while the session uses a service
   * other than the one that reported them.
   */
  get current(): ReadonlyMap<string, string> {
    return this.#isKnown(this.#deps.session.currentClient) ? this.#names : new Map();
  }

  /**
   * Registers a project; does so again only once the service has moved, another key is used, or a link leads elsewhere.
   * @returns the project under the service's name for it.
   * @throws PipelineError as `registerProject`.
   */
  register(client: ServiceClient, project: LocalProject): Promise<LocalProject> {
    if (!this.#isKnown(client)) {
      this.#names.clear();
      this.#served.clear();
      this.#registered.clear();
      this.#service = client;
    }
    const { root } = project;
    const known = this.#registered.get(root);
    if (known !== undefined && this.#isUnchanged(root)) return known;
    if (!this.#names.has(root)) this.#names.set(root, project.name);
    const asked = registerProject(client, project, this.#ended.signal);
    this.#registered.set(root, asked);
    this.#served.delete(root);
    asked.then(
      ({ name, servedRoot = root }) => {
        if (this.#registered.get(root) !== asked) return;
        this.#names.set(root, name);
        this.#served.set(root, { root: servedRoot, places: placesOf(root, servedRoot) });
      },
      () => {
        if (this.#registered.get(root) === asked) this.#registered.delete(root);
      },
    );
    return asked;
  }

  /** Registers unknown projects with the session's service. */
  async update(projects: readonly LocalProject[]): Promise<void> {
    const { session, log, isTrusted } = this.#deps;
    const service = session.state.value.kind === "live" ? session.currentClient : undefined;
    if (service === undefined || !isTrusted()) return;
    const unknown = projects.filter(
      ({ root }) => !this.#isKnown(service) || !this.#names.has(root) || !this.#isUnchanged(root),
    );
    if (unknown.length === 0) return;
    const { signal } = this.#ended;
    // One after the other, so that of two folders of the same name the same one always comes first.
    for (const project of unknown) {
      await this.register(service, project).catch((error: unknown) => {
        if (!signal.aborted) log.warn(`The service was not told of ${project.root}: ${describeError(error)}`);
      });
      if (signal.aborted || !this.#isKnown(service)) return;
    }
    this.changed.emit();
  }

  dispose(): void {
    this.#ended.abort();
  }

  /** Whether the window's path and the service's lead where they led at registration: either may be a link that was changed. */
  #isUnchanged(root: string): boolean {
    const served = this.#served.get(root);
    return served === undefined || served.root === root || served.places === placesOf(root, served.root);
  }

  /** Whether the names are from this service. */
  #isKnown(service: ServiceClient | undefined): boolean {
    return this.#service !== undefined && isSameService(this.#service, service);
  }
}

function placesOf(...folders: readonly string[]): string {
  return folders.map(placeOf).join("\0");
}
