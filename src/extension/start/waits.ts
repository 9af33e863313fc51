import { ObservableValue } from "../window/observable.ts";

/** One start that stands in line for a place. */
export interface Wait {
  readonly pipeline: string;
  readonly project?: string | undefined;
  readonly secondsLeft: number;
}

/** A start that may come to wait. */
interface Standing {
  /** It is in the list from the first `tell` until `end`. */
  tell(secondsLeft: number): void;
  end(): void;
}

/** The waits of this window, the oldest first, for the status bar and for who stops one. */
export class Waits {
  readonly current = new ObservableValue<readonly Wait[]>([]);
  readonly #waits = new Map<symbol, { readonly wait: Wait; readonly stop: () => void }>();

  /** The starts whose first answer is out. */
  readonly #asked = new Map<string, symbol>();

  /**
   * Notes that a start is asked for, until it waits or has its answer.
   * @returns undefined while the same start is asked for already.
   */
  ask(wish: Pick<Wait, "pipeline" | "project">): Disposable | undefined {
    const name = nameOf(wish);
    if (this.#asked.has(name)) return undefined;
    const asked = Symbol(name);
    this.#asked.set(name, asked);
    return { [Symbol.dispose]: () => this.#answered(name, asked) };
  }

  /** @param stop gives up the turn. */
  begin(wish: Pick<Wait, "pipeline" | "project">, stop: () => void): Standing {
    const id = Symbol(wish.pipeline);
    const { pipeline, project } = wish;
    const name = nameOf(wish);
    const asked = this.#asked.get(name);
    return {
      tell: (secondsLeft) => {
        this.#answered(name, asked);
        this.#waits.set(id, { wait: { pipeline, project, secondsLeft }, stop });
        this.#tell();
      },
      end: () => {
        this.#answered(name, asked);
        if (this.#waits.delete(id)) this.#tell();
      },
    };
  }

  /** The wait of this very pipeline, where it waits already. */
  of({ pipeline, project }: Pick<Wait, "pipeline" | "project">): Wait | undefined {
    return this.current.value.find((wait) => wait.pipeline === pipeline && wait.project === project);
  }

  /** Gives up one turn of a pipeline: where it waits twice, the later one. One that is over by now is left alone. */
  stop(wait: Pick<Wait, "pipeline" | "project">): void {
    [...this.#waits.values()].findLast((standing) => nameOf(standing.wait) === nameOf(wait))?.stop();
  }

  #answered(name: string, asked: symbol | undefined): void {
    if (this.#asked.get(name) === asked) this.#asked.delete(name);
  }

  #tell(): void {
    this.current.set([...this.#waits.values()].map(({ wait }) => wait));
  }
}

function nameOf({ pipeline, project }: Pick<Wait, "pipeline" | "project">): string {
  return JSON.stringify([pipeline, project]);
}
