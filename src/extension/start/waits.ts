import type { InputValues } from "../../contract/inputs.ts";
import type { QueuePlace } from "../../text/queueText.ts";
import { ObservableValue } from "../window/observable.ts";

/** A start that waits in the queue for a slot. */
export interface Wait {
  readonly pipeline: string;
  readonly project?: string | undefined;
  readonly inputs?: InputValues | undefined;
  readonly secondsLeft: number;
  readonly place?: QueuePlace | undefined;
}

/** What distinguishes a start from others. */
export type AskedStart = Pick<Wait, "pipeline" | "project" | "inputs">;

/** The waits of this window, oldest first. */
export class Waits {
  readonly current = new ObservableValue<readonly Wait[]>([]);
  readonly #waits = new Map<symbol, { readonly wait: Wait; readonly stop: () => void }>();

  /** Starts without a first reply yet. */
  readonly #starting = new Map<string, symbol>();

  /**
   * Records that a start is being requested, until it waits or gets its reply.
   * @returns undefined while the same start is being requested.
   */
  starting(request: AskedStart): Disposable | undefined {
    const name = nameOf(request);
    if (this.#starting.has(name)) return undefined;
    const asked = Symbol(name);
    this.#starting.set(name, asked);
    return { [Symbol.dispose]: () => this.#started(name, asked) };
  }

  /** @param stop leaves the queue. */
  begin(request: AskedStart, stop: () => void) {
    const id = Symbol(request.pipeline);
    const { pipeline, project, inputs } = request;
    const name = nameOf(request);
    const asked = this.#starting.get(name);
    return {
      /** Lists the wait, with the seconds left and the queue position if known, until `end`. */
      update: (secondsLeft: number, place?: QueuePlace): void => {
        this.#started(name, asked);
        this.#waits.set(id, { wait: { pipeline, project, inputs, secondsLeft, place }, stop });
        this.#publish();
      },
      end: (): void => {
        this.#started(name, asked);
        if (this.#waits.delete(id)) this.#publish();
      },
    };
  }

  find(request: AskedStart): Wait | undefined {
    return this.current.value.find((wait) => nameOf(wait) === nameOf(request));
  }

  /** Stops the wait of a start, the latest if there are several; no effect if it is over. */
  stop(wait: AskedStart): void {
    [...this.#waits.values()].findLast((standing) => nameOf(standing.wait) === nameOf(wait))?.stop();
  }

  #started(name: string, asked: symbol | undefined): void {
    if (this.#starting.get(name) === asked) this.#starting.delete(name);
  }

  #publish(): void {
    this.current.set([...this.#waits.values()].map(({ wait }) => wait));
  }
}

function nameOf({ pipeline, project, inputs = {} }: AskedStart): string {
  return JSON.stringify([pipeline, project, Object.entries(inputs).sort()]);
}
