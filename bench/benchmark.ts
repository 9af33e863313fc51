/** What a benchmark measured, side by side in one run. */
export interface Measured {
  readonly name: string;
  readonly rounds: number;
  readonly rows: readonly Row[];
}

export interface Row {
  readonly name: string;
  readonly medianMilliseconds: number;
  readonly fastestMilliseconds: number;
  /** Of the medians. */
  readonly ratio: { readonly to: string; readonly value: number; readonly atMost?: number };
}
