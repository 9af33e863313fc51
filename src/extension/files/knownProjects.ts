import type { Disposable, LogOutputChannel } from "vscode";
import { registerProject } from "../../client/project.ts";
import { describeError } from "../../contract/errors.ts";
import type { Session } from "../session.ts";
import type { FileProject } from "./fileProjects.ts";

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
