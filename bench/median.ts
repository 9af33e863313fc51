/** The median of some values; not a number when there are none. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  const [low = Number.NaN, high = Number.NaN] = [
    sorted[(sorted.length - 1) >> 1],
    sorted[sorted.length >> 1],
  ];
  return (low + high) / 2;
}

/** The smallest value that at least `share` (0..1) of the values do not exceed; not a number when there are none. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
}
