/** What a benchmark measured, side by side in one run. */
export interface Measured {
  readonly name: string;
  readonly rounds: number;
  readonly rows: readonly Row[];
  readonly sizes?: readonly Size[];
}

export interface Row {
  readonly name: string;
  readonly medianMilliseconds: number;
  readonly fastestMilliseconds: number;
  /** Of the medians. */
  readonly ratio: { readonly to: string; readonly value: number; readonly atMost?: number };
}

/** What a file weighs; those of one group are told together. */
export interface Size {
  readonly group: string;
  readonly name: string;
  readonly bytes: number;
}
