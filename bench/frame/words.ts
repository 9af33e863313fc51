import { type Figure, type Goal, isMet, type Unit } from "../benchmark.ts";

/** A figure as it is printed, with what it is beside and whether it reaches its goal. */
export function figureText({ value, unit, beside, goal }: Figure): string {
  const of = beside === undefined ? "" : ` ${beside}`;
  const verdict =
    goal === undefined ? "" : ` [${goalText(goal, unit)}: ${isMet(value, goal) ? "met" : "MISSED"}]`;
  return `${valueText(value, unit)}${of}${verdict}`;
}

/** What is meant to be reached, with the unit unless it is a ratio. */
export function goalText(goal: Goal, unit: Unit): string {
  const [words, value] = "atMost" in goal ? ["at most", goal.atMost] : ["at least", goal.atLeast];
  return `${words} ${unit === "×" || unit === "count" ? value : valueText(value, unit)}`;
}

export function valueText(value: number, unit: Unit): string {
  switch (unit) {
    case "×":
      return `${value.toFixed(2)} ×`;
    case "bytes":
      return value < 1024 * 1024
        ? `${(value / 1024).toFixed(1)} KB`
        : `${(value / 1024 / 1024).toFixed(1)} MB`;
    case "count":
      return short(value);
    case "µs":
    case "ms":
    case "s":
    case "per s":
    case "%":
      return `${short(value)} ${unit}`;
    default:
      return unit satisfies never;
  }
}

/** Three digits that tell something, and no more. */
function short(value: number): string {
  if (!Number.isFinite(value) || value === 0) return String(value);
  const size = Math.floor(Math.log10(Math.abs(value)));
  return value.toFixed(Math.max(0, Number.isInteger(value) ? 0 : 2 - size));
}
