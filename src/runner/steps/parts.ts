import { ExpressionFault, isMap, type JsonMap } from "../../pipeline/expression/value.ts";
import type { Pipeline } from "../../pipeline/pipeline.ts";
import { fillOutputs, fillValue } from "../step/fillIn.ts";
import { givenInputs } from "./runValues.ts";
import { isTrue, type Scopes } from "./scopes.ts";

type Part = NonNullable<Pipeline["parts"]>[number];

/** A part that can't be entered or left, and why. */
interface PartFailure {
  readonly kind: "failed";
  readonly part: number;
  readonly message: string;
}

type Position = { readonly kind: "inside" | "skipped" } | PartFailure;

/** `open`: it has begun, and cleanup steps may run in it. */
type State = "inside" | "left" | "skipped" | "failed" | "open";

/** Enters and leaves the parts of a pipeline as its steps go on: their conditions, inputs and outputs. */
export class Parts {
  readonly #parts: readonly Part[];
  readonly #scopes: Scopes;
  readonly #states = new Map<number, State>();
  /** The parts that went on although a step in them failed. */
  readonly #marred = new Set<number>();

  constructor(parts: readonly Part[], scopes: Scopes) {
    this.#parts = parts;
    this.#scopes = scopes;
  }

  /**
   * Leaves the parts that the next step isn't in, the innermost first. Stops at a failure; called again once it is handled.
   * @param next the part of the next step; undefined for a step of the file itself.
   */
  leave(next: number | undefined): PartFailure | undefined {
    const chain = this.#chain(next);
    for (const [part, state] of [...this.#states].reverse()) {
      if (state !== "inside" || chain.includes(part)) continue;
      const message = this.#leave(part);
      if (message !== undefined) return { kind: "failed", part, message };
    }
    return undefined;
  }

  /** Enters the part of a step, and those around it, unless one of them is skipped or has failed. */
  moveTo(part: number | undefined): Position {
    const chain = this.#chain(part).reverse();
    for (const index of chain) {
      const state = this.#states.get(index);
      if (state === "inside" || state === "open") continue;
      if (state !== undefined) return { kind: "skipped" };
      try {
        if (!this.#enter(index)) return { kind: "skipped" };
      } catch (error) {
        if (!(error instanceof ExpressionFault)) throw error;
        return { kind: "failed", part: index, message: error.message };
      }
    }
    return { kind: "inside" };
  }

  /**
   * Gives up the parts around a failure, up to the one after which the run goes on.
   * @returns whether there is one.
   */
  giveUp(part: number | undefined): boolean {
    const chain = this.#chain(part);
    const last = chain.findIndex((index) => this.#parts[index]?.goesOn === true);
    for (const index of last === -1 ? chain : chain.slice(0, last + 1)) this.#end(index, "failed", {});
    return last !== -1;
  }

  /** Called when a step in a part has failed and the part goes on. */
  mar(part: number | undefined): void {
    for (const index of this.#chain(part)) this.#marred.add(index);
  }

  /** Called before the cleanup steps, which run in all parts that have begun, and in those of `finally`. */
  cleanUp(): void {
    for (const [index, { isCleanup }] of this.#parts.entries())
      if (isCleanup !== true) this.#states.set(index, this.#scopes.has(index) ? "open" : "skipped");
  }

  name(part: number): string {
    return this.#parts[part]?.name ?? "";
  }

  /** From the part itself to the outermost. */
  #chain(part: number | undefined): number[] {
    const chain: number[] = [];
    for (let at = part; at !== undefined; at = this.#parts[at]?.parent) chain.push(at);
    return chain;
  }

  /** @returns whether it isn't skipped. @throws ExpressionFault */
  #enter(index: number): boolean {
    const part = this.#parts[index];
    if (part === undefined) throw new Error(`there is no part ${index}`);
    const { given, inputs, parent } = part;
    const outside = this.#scopes.at(parent);
    if (part.if !== undefined && !isTrue(part.if, outside)) {
      this.#end(index, "skipped", {});
      return false;
    }
    const values = fillValue(given, outside);
    this.#scopes.begin(index, givenInputs(inputs, isMap(values) ? values : {}, outside));
    this.#states.set(index, "inside");
    return true;
  }

  /** @returns why its outputs have no value. */
  #leave(index: number): string | undefined {
    try {
      this.#end(index, "left", fillOutputs(this.#parts[index]?.outputs ?? {}, this.#scopes.at(index)));
      return undefined;
    } catch (error) {
      if (!(error instanceof ExpressionFault)) throw error;
      return error.message;
    }
  }

  #end(index: number, state: Exclude<State, "inside" | "open">, outputs: JsonMap): void {
    this.#states.set(index, state);
    const part = this.#parts[index];
    const outcome = state === "left" ? (this.#marred.has(index) ? "failed" : "succeeded") : state;
    this.#scopes.add(part?.parent, part?.id, { ...outputs, outcome });
  }
}
