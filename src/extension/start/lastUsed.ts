import type { Memento } from "vscode";
import type { PipelineEntry } from "../../contract/pipelineList.ts";

const name = "lastUsedPipelines";
const kept = 50;

/** Remembers in this workspace which pipelines were run, so that the one wanted again stands first. */
export class LastUsed {
  readonly #memento: Pick<Memento, "get" | "update">;

  constructor(memento: Pick<Memento, "get" | "update">) {
    this.#memento = memento;
  }

  async note(project: string, pipeline: string): Promise<void> {
    const id = idOf(project, pipeline);
    const others = this.#ids().filter((other) => other !== id);
    await this.#memento.update(name, [id, ...others].slice(0, kept));
  }

  /** The entries, last used first, then by name; those that can't be run stand behind the others. */
  order(entries: readonly PipelineEntry[]): PipelineEntry[] {
    const ids = this.#ids();
    const rank = (entry: PipelineEntry) => {
      const position = ids.indexOf(idOf(entry.project, entry.name));
      return position < 0 ? ids.length : position;
    };
    const isBroken = ({ problem }: PipelineEntry) => Number(problem !== undefined);
    return [...entries].sort(
      (a, b) => isBroken(a) - isBroken(b) || rank(a) - rank(b) || a.name.localeCompare(b.name),
    );
  }

  #ids(): string[] {
    const value = this.#memento.get<unknown>(name);
    return Array.isArray(value) ? value.filter((id) => typeof id === "string") : [];
  }
}

function idOf(project: string, pipeline: string): string {
  return `${project}/${pipeline}`;
}
