import { ObservableValue } from "../window/observable.ts";

/** One start that stands in line for a place. */
export interface Wait {
  readonly pipeline: string;
  readonly project?: string | undefined;
  readonly secondsLeft: number;
}

/** A start that may come to wait. */
interface WaitHandle {
  /** It is in the list from the first `tell` until `end`. */
  update(secondsLeft: number): void;
  end(): void;
}

/** The waits of this window, the oldest first, for the status bar and for who stops one. */
export class Waits {
  readonly current = new ObservableValue<readonly Wait[]>([]);
  readonly #waits = new Map<symbol, { readonly wait: Wait; readonly stop: () => void }>();

  /** The starts whose first answer is out. */
  readonly #starting = new Map<string, symbol>();

  /**
   * Notes that a start is asked for, until it waits or has its answer.
   * @returns undefined while the same start is asked for already.
   */
  starting(wish: Pick<Wait, "pipeline" | "project">): Disposable | undefined {
    const name = nameOf(wish);
    if (this.#starting.has(name)) return undefined;
    const asked = Symbol(name);
    this.#starting.set(name, asked);
    return { [Symbol.dispose]: () => this.#started(name, asked) };
  }

  /** @param stop gives up the turn. */
  begin(wish: Pick<Wait, "pipeline" | "project">, stop: () => void): WaitHandle {
    const id = Symbol(wish.pipeline);
    const { pipeline, project } = wish;
    const name = nameOf(wish);
    const asked = this.#starting.get(name);
    return {
      update: (secondsLeft) => {
        this.#started(name, asked);
        this.#waits.set(id, { wait: { pipeline, project, secondsLeft }, stop });
        this.publish();
      },
      end: () => {
        this.#started(name, asked);
        if (this.#waits.delete(id)) this.publish();
      },
    };
  }

  /** The wait of this very pipeline, where it waits already. */
  find({ pipeline, project }: Pick<Wait, "pipeline" | "project">): Wait | undefined {
    return this.current.value.find((wait) => wait.pipeline === pipeline && wait.project === project);
  }

  /** Gives up one turn of a pipeline: where it waits twice, the later one. One that is over by now is left alone. */
  stop(wait: Pick<Wait, "pipeline" | "project">): void {
    [...this.#waits.values()].findLast((standing) => nameOf(standing.wait) === nameOf(wait))?.stop();
  }

  #started(name: string, asked: symbol | undefined): void {
    if (this.#starting.get(name) === asked) this.#starting.delete(name);
  }

  publish(): void {
    this.current.set([...this.#waits.values()].map(({ wait }) => wait));
  }
}

function nameOf({ pipeline, project }: Pick<Wait, "pipeline" | "project">): string {
  return JSON.stringify([pipeline, project]);
}
