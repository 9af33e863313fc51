import type { Say } from "../scripts/say.ts";

/** Something that is measured, beside what it is compared to, in one run. */
export interface Benchmark {
  /** As it is asked for: `npm run bench -- <name>`. */
  readonly name: string;
  /** One sentence: what its figures decide. */
  readonly decides: string;
  /** Measures. @throws whatever keeps it from measuring, or the signal's reason. */
  readonly measure: (setting: Setting) => Promise<Measured | NotMeasured>;
}

export interface Setting {
  readonly signal: AbortSignal;
  /** Tells how far it is, on standard error. */
  readonly say: Say;
}

export interface Measured {
  readonly kind: "measured";
  /** How often each was measured: what one row's figures come from. */
  readonly rounds: number;
  readonly tables: readonly Table[];
}

/** It can't be measured here, as on a system that doesn't tell what is asked for. */
export interface NotMeasured {
  readonly kind: "not-measured";
  readonly why: string;
}

export interface Table {
  /** Left out where there is but one. */
  readonly title?: string;
  readonly rows: readonly Row[];
}

export interface Row {
  readonly name: string;
  readonly figures: readonly Figure[];
}

export interface Figure {
  /** The column. */
  readonly name: string;
  readonly value: number;
  readonly unit: Unit;
  /** Of a ratio (`×`): the row, or whatever else, that it is a multiple of. */
  readonly beside?: string;
  readonly goal?: Goal;
}

export type Unit = "µs" | "ms" | "s" | "per s" | "bytes" | "count" | "%" | "×";

export type Goal = { readonly atMost: number } | { readonly atLeast: number };

/** Whether a figure reaches its goal; one that is no number reaches none. */
export function isMet(value: number, goal: Goal): boolean {
  return "atMost" in goal ? value <= goal.atMost : value >= goal.atLeast;
}
