import type { Memento } from "vscode";
import { type InputValues, inputValuesSchema, type PipelineEntry } from "../../contract/pipelines.ts";

const name = "lastUsedPipelines";
const inputsName = "lastUsedInputs";
const mostKept = 50;

/** Remembers the pipelines that were run in this workspace, to list them first, and their inputs. */
export class LastUsed {
  readonly #memento: Pick<Memento, "get" | "update">;

  constructor(memento: Pick<Memento, "get" | "update">) {
    this.#memento = memento;
  }

  /** @param project undefined for a pipeline named without one. */
  note(project: string | undefined, pipeline: string): void {
    const id = idOf(project, pipeline);
    const others = this.#ids().filter((other) => other !== id);
    // Ignored: an entry that can't be stored only isn't listed first.
    this.#memento.update(name, [id, ...others].slice(0, mostKept)).then(undefined, () => {});
  }

  /** The pipelines that were run, latest first: the list for a service that doesn't list any. */
  entries(): PipelineEntry[] {
    return this.#ids().map((id) => {
      const slash = id.indexOf("/");
      const name = id.slice(slash + 1);
      return slash <= 0 ? { name } : { name, project: id.slice(0, slash) };
    });
  }

  /** The entries, latest run first, then by name; broken ones come last. */
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

  /** The inputs that the person last gave to a pipeline; empty if unknown. */
  inputsOf(project: string | undefined, pipeline: string): InputValues {
    const id = idOf(project, pipeline);
    const [, values] = this.#inputs().find(([other]) => other === id) ?? [];
    return inputValuesSchema.safeParse(values).data ?? {};
  }

  async noteInputs(project: string | undefined, pipeline: string, values: InputValues): Promise<void> {
    const id = idOf(project, pipeline);
    const others = this.#inputs().filter(([other]) => other !== id);
    await this.#memento.update(inputsName, [[id, values], ...others].slice(0, mostKept));
  }

  #inputs(): (readonly unknown[])[] {
    const kept = this.#memento.get<unknown>(inputsName);
    return Array.isArray(kept) ? kept.filter((entry) => Array.isArray(entry)) : [];
  }

  #ids(): string[] {
    const value = this.#memento.get<unknown>(name);
    return Array.isArray(value) ? value.filter((id) => typeof id === "string") : [];
  }
}

/** Unambiguous, since a project's name is a folder's and has no slash. */
function idOf(project = "", pipeline: string): string {
  return `${project}/${pipeline}`;
}
