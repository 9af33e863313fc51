import { describeError } from "../../contract/errors.ts";
import { ExpressionFault, type Json, type JsonMap } from "../../pipeline/expression/value.ts";
import type { OutputStream } from "../launch/messages.ts";
import type { Mask } from "../mask/mask.ts";
import { leavesIn, secretsIn } from "../mask/secretForms.ts";

/** How a step ended. `message` is for people; a part that is cut short is masked before the cut, all of it before it is sent. */
export type StepOutcome =
  | { readonly kind: "succeeded" }
  | { readonly kind: "failed"; readonly message: string };

export const succeeded: StepOutcome = { kind: "succeeded" };

export function failed(message: string): StepOutcome {
  return { kind: "failed", message };
}

/** Thrown when a step can't be run. The message is for people, and may contain secrets: mask it. */
export class StepFault extends Error {
  override readonly name: string = "StepFault";
}

/** Does something, and prefixes its faults with what it is about. */
export async function about<T>(what: string, doing: Promise<T>): Promise<T> {
  try {
    return await doing;
  } catch (error) {
    throw error instanceof StepFault ? new StepFault(`${what}: ${error.message}`) : error;
  }
}

/** A step's outcome: whatever it throws makes it fail. A bug in a step must not end the runner and lose the outcomes so far. */
export function outcomeOf(running: Promise<StepOutcome>): Promise<StepOutcome> {
  return running.catch((error: unknown) =>
    failed(
      error instanceof StepFault || error instanceof ExpressionFault
        ? error.message
        : `this step broke off: ${describeError(error)}`,
    ),
  );
}

/** What a step needs to run, whatever its type. */
export interface StepContext {
  /** The project's folder. */
  readonly root: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly platform: NodeJS.Platform;
  /** The file that `node` runs in this environment. */
  readonly node: string;
  /** How to start this program again, for work that needs a process of its own. */
  readonly program: { readonly execPath: string; readonly path: string };
  readonly mask: Mask;
  readonly log: StepLog;
  readonly results: ResultTaker;
  /** Saves a file with the run, such as a screenshot. Text is masked. */
  readonly saveArtifact: (artifact: NewArtifact) => void;
  /** What the run's steps share, such as a connection; disposed when the run ends. */
  readonly shared: SharedResources;
  /** Aborted when the step has to end; nothing may be started after that. */
  readonly signal: AbortSignal;
  /** Called with the id of each program started; on Linux and macOS also the id of its process group. */
  readonly onSpawned: (pid: number) => void;
  /** Called with a program that goes on after its step; settles with how it ended: `exited with 1`. Never rejects. */
  readonly onBackground: (ended: Promise<string>) => void;
}

export interface StepLog {
  /** A program's output. The caller masks it, since a secret may have begun in an earlier piece. */
  write(stream: Exclude<OutputStream, "note">, masked: string): void;
  /** Adds a line about the step; it is masked here. */
  note(line: string): void;
  /** The end of the run waits briefly for this: a program that the step left running may write until it settles. */
  waitFor(until: Promise<void>): void;
}

export interface NewArtifact {
  /** The file name shown to people, with its extension. */
  readonly name: string;
  readonly mediaType: string;
  readonly content: string | Uint8Array;
}

/**
 * Resources that the steps of a run share, such as a connection or a browser. The first step that needs one creates
 * it; all are disposed when the run ends.
 */
export class SharedResources implements AsyncDisposable {
  readonly #held = new Set<{
    readonly type: unknown;
    readonly name: string;
    readonly making: Promise<AsyncDisposable>;
  }>();
  #isDisposed = false;

  /**
   * Returns the resource of this type and name, and creates it if there is none. A failed creation is not cached.
   *
   * @throws what `make` throws, and an error once the run has ended.
   */
  async get<T extends AsyncDisposable>(
    type: abstract new (...parts: never[]) => T,
    name: string,
    make: () => Promise<T>,
  ): Promise<T> {
    if (this.#isDisposed) throw new Error("the run was ended");
    const known = [...this.#held].find((one) => one.type === type && one.name === name);
    const held = known ?? { type, name, making: make() };
    this.#held.add(held);
    const thing = await held.making.catch((error: unknown) => {
      this.#held.delete(held);
      throw error;
    });
    if (thing instanceof type) return thing;
    throw new TypeError(`${name} is no ${type.name}`);
  }

  /** Lets go of a resource that is of no more use; the next step that needs one creates it anew. */
  async forget(thing: AsyncDisposable): Promise<void> {
    for (const held of this.#held)
      if ((await held.making.catch(() => undefined)) === thing) this.#held.delete(held);
  }

  /** Disposes everything, including what is still being created. Never rejects. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isDisposed = true;
    const held = [...this.#held];
    this.#held.clear();
    await Promise.allSettled(held.map(async ({ making }) => (await making)[Symbol.asyncDispose]()));
  }
}

/** What a step gives to expressions, as `this` and as `steps.<id>`. Plain JSON. */
export interface StepResult {
  readonly values: JsonMap;
  /** Why values that such a result usually has are missing, by their names. */
  readonly missing?: Readonly<Record<string, string>>;
  /** In UTF-16 units. What is parsed from a text doesn't count again. */
  readonly size: number;
}

/** How a step hands over its result before anything of it is shown. */
export interface ResultTaker {
  /** Whether anything looks at it. Otherwise nothing is called for it. */
  readonly isNeeded: boolean;
  /** Whether it holds secrets, so that nothing may be shown before `take`. */
  readonly isSecret: boolean;
  /** Takes the result: what is secret in it is masked from here on. */
  take(make: () => StepResult): void;
  /** What `that` finds wrong, one line each, in the result that was taken or, for a reply that goes on, in this one. */
  problems(make?: () => StepResult): readonly string[];
}

export const MB = 1024 * 1024;
/** In UTF-16 units, which are one or two bytes. */
export const largestResult = 10 * MB;
const largestResults = 64 * MB;

export const tooLarge = `it is larger than ${largestResult / MB} MB, the most that is kept of one`;

/** Limits the memory that the results of a run take. */
export class ResultMemory {
  #room = largestResults;

  /** @returns the result, or no more than its numbers where there is no room left. */
  keep(result: StepResult): StepResult {
    if (result.size <= this.#room) {
      this.#room -= result.size;
      return result;
    }
    return numbersOnly(result, `the results of a run have at most ${largestResults / MB} MB together`);
  }
}

/** A result without all that could hold a text. @param why the rest isn't there. */
export function numbersOnly({ values, missing }: StepResult, why: string): StepResult {
  const names = Object.keys(values).filter((name) => typeof values[name] !== "number");
  const numbers = Object.fromEntries(Object.entries(values).filter(([name]) => !names.includes(name)));
  return {
    values: numbers,
    missing: { ...missing, ...Object.fromEntries(names.map((name) => [name, why])) },
    size: 0,
  };
}

/** The values as expressions find them. Whatever needs a missing one fails, `exists` too, since its value isn't known. */
export function asContext({ values, missing = {} }: StepResult, more: JsonMap): JsonMap {
  const context = { ...more, ...values };
  for (const [name, why] of Object.entries(missing)) {
    Object.defineProperty(context, name, {
      enumerable: true,
      get: () => {
        throw new ExpressionFault(`\`${name}\` isn't there: ${why}`);
      },
    });
  }
  return context;
}

/** More secrets, or longer ones, would make masking slow. */
const mostSecrets = { count: 1000, length: 256 * 1024 } as const;

const tooManySecrets = `\`mask\` names more than ${mostSecrets.count} values or lines, or more than ${mostSecrets.length / 1024} KB`;

/**
 * Masks the texts and numbers in values, however deep, from here on.
 * @returns why it can't; then nothing of the step may be shown.
 */
export function maskValues(values: readonly Json[], mask: Mask): string | undefined {
  const secrets: string[] = [];
  let length = 0;
  for (const secret of leavesIn(values)) {
    secrets.push(secret);
    length += secret.length;
    if (secrets.length > mostSecrets.count || length > mostSecrets.length) return tooManySecrets;
  }
  if (secretsIn(secrets).size > mostSecrets.count) return tooManySecrets;
  mask.add(secrets);
  return undefined;
}
