import type { Mask } from "./mask.ts";
import type { OutputStream } from "./protocol.ts";

/** How a step ended. `message` is for people: masked where it is cut short, and masked as a whole before it is told. */
export type StepOutcome =
  | { readonly kind: "succeeded" }
  | { readonly kind: "failed"; readonly message: string };

export const succeeded: StepOutcome = { kind: "succeeded" };

export function failed(message: string): StepOutcome {
  return { kind: "failed", message };
}

/** What a step runs with. */
export interface StepSurroundings {
  /** The project's folder. */
  readonly root: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly platform: NodeJS.Platform;
  /** How this very program is started, for what has to run in a process of its own. */
  readonly program: { readonly execPath: string; readonly path: string };
  readonly mask: Mask;
  /** The step's log, which people read while it runs. */
  readonly log: StepLog;
  /** Keeps a file with the run, such as a screenshot. Masks it when it is text. */
  readonly keep: (artifact: NewArtifact) => Promise<void>;
  /** What the run's steps share, such as a connection; given up when the run ends. */
  readonly shared: Shared;
  /** Aborted when the run is to end: nothing may be started any more. */
  readonly signal: AbortSignal;
  /** Told of each program started. On Linux and macOS its id is its process group's as well. */
  readonly onSpawned: (pid: number) => void;
}

export interface StepLog {
  /** What a program wrote, masked by the caller, who knows what came before it. */
  write(stream: Exclude<OutputStream, "note">, masked: string): void;
  /** One line on what the step does or found. Is masked. */
  note(line: string): void;
  /** A program that the step leaves running may write until this settles; the run's end waits for it a little. */
  lasts(until: Promise<void>): void;
}

export interface NewArtifact {
  /** As people are shown it: a file's name with its extension. */
  readonly name: string;
  readonly mediaType: string;
  readonly content: string | Uint8Array;
}

/**
 * What the steps of one run share until it ends, such as a connection or a browser: made by the first step that needs
 * it, used by those that follow, and given up in whatever way the run ends.
 */
export class Shared implements AsyncDisposable {
  readonly #held = new Map<unknown, Map<string, Promise<AsyncDisposable>>>();
  #isDisposed = false;

  /**
   * The one of its type that goes by this name, made when there is none yet. One that couldn't be made is made again
   * when it is next asked for.
   *
   * @throws what `make` throws, and once the run has ended.
   */
  async get<T extends AsyncDisposable>(
    type: abstract new (...parts: never[]) => T,
    name: string,
    make: () => Promise<T>,
  ): Promise<T> {
    if (this.#isDisposed) throw new Error("the run was ended");
    const sameType = this.#held.get(type) ?? new Map<string, Promise<AsyncDisposable>>();
    this.#held.set(type, sameType);
    const making = sameType.get(name) ?? make();
    sameType.set(name, making);
    let thing: AsyncDisposable;
    try {
      thing = await making;
    } catch (error) {
      if (sameType.get(name) === making) sameType.delete(name);
      throw error;
    }
    if (thing instanceof type) return thing;
    throw new TypeError(`${name} is no ${type.name}`);
  }

  /** Gives up everything, also what is still being made. Never rejects: nobody is left to be told. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isDisposed = true;
    const held = [...this.#held.values()].flatMap((sameType) => [...sameType.values()]);
    this.#held.clear();
    await Promise.allSettled(held.map(async (thing) => (await thing)[Symbol.asyncDispose]()));
  }
}
