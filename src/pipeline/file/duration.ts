/** A length of time as a pipeline file writes it: `500ms`, `60s`, `1.5m`, `1h`. A bare number is in seconds. */
export const durationPattern = /^(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h)$/;

/** @returns milliseconds; undefined for what is no length of time. */
export function parseDuration(written: string | number): number | undefined {
  if (typeof written === "number") {
    return Number.isFinite(written) && written >= 0 ? written * 1000 : undefined;
  }
  const [, amount, unit = ""] = durationPattern.exec(written) ?? [];
  return amount === undefined ? undefined : Number(amount) * (milliseconds[unit] ?? 1);
}

const milliseconds: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000 };
