import { cpus, loadavg, release, totalmem, type } from "node:os";
import {
  type Figure,
  type Goal,
  isMet,
  type Measured,
  type NotMeasured,
  type Table,
  type Unit,
} from "./benchmark.ts";

/** What came of one benchmark; one that failed is told like the others, and none is left out. */
export interface Outcome {
  readonly name: string;
  readonly decides: string;
  readonly seconds: number;
  /** The load on the machine when it began. */
  readonly load: readonly number[];
  readonly result: Measured | NotMeasured | { readonly kind: "failed"; readonly why: string };
}

/** What figures were measured on: none means anything without. */
interface Machine {
  readonly system: string;
  readonly processors: string;
  readonly memoryBytes: number;
  readonly node: string;
  /** How many processes wanted a processor in the last 1, 5 and 15 minutes. */
  readonly load: readonly number[];
}

export function thisMachine(): Machine {
  return {
    system: `${type()} ${release()}`,
    processors: `${cpus().length} × ${cpus()[0]?.model.trim() ?? "unknown"}`,
    memoryBytes: totalmem(),
    node: process.versions.node,
    load: loadNow(),
  };
}

export function loadNow(): readonly number[] {
  return loadavg().map((value) => Math.round(value * 10) / 10);
}

/** All that was measured, as one JSON object; `ok` says that nothing failed, not that the goals are met. */
export function jsonReport(machine: Machine, outcomes: readonly Outcome[]): string {
  const judged = judge(outcomes);
  const verdicts = new Map(judged.map(({ figure, isMet }) => [figure, isMet]));
  return JSON.stringify(
    {
      ok: outcomes.every(({ result }) => result.kind !== "failed"),
      command: "bench",
      machine,
      goals: { met: judged.filter(({ isMet }) => isMet).length, of: judged.length },
      benchmarks: outcomes.map(({ result, ...outcome }) => ({ ...outcome, ...result })),
    },
    (_, value) => (verdicts.has(value) ? { ...value, isMet: verdicts.get(value) } : value),
  );
}

/** All that was measured, as a person reads it. */
export function textReport(machine: Machine, outcomes: readonly Outcome[]): string {
  const memory = valueText(machine.memoryBytes, "bytes");
  return [
    `${machine.processors}, ${memory}, ${machine.system}, Node.js ${machine.node}`,
    ...outcomes.map(tellOutcome),
    tellGoals(judge(outcomes), outcomes),
  ].join("\n\n");
}

function tellOutcome({ name, decides, seconds, load, result }: Outcome): string {
  const after = `${seconds} s, load ${load.join(" ")} when it began`;
  switch (result.kind) {
    case "failed":
      return `── ${name}: failed (${after})\n   ${result.why}`;
    case "not-measured":
      return `── ${name}: not measured here\n   ${result.why}`;
    case "measured":
      return [
        `── ${name}: ${decides}`,
        `   ${result.rounds} rounds, ${after}`,
        ...result.tables.map(tellTable),
      ].join("\n");
    default:
      return result satisfies never;
  }
}

function tellTable({ title, rows }: Table): string {
  const columns = [...new Set(rows.flatMap(({ figures }) => figures.map(({ name }) => name)))];
  const lines = [
    [title ?? "", ...columns],
    ...rows.map(({ name, figures }) => [
      name,
      ...columns.map((column) => {
        const figure = figures.find((one) => one.name === column);
        return figure === undefined ? "" : figureText(figure);
      }),
    ]),
  ];
  const widths = ["", ...columns].map((_, at) => Math.max(...lines.map((line) => line[at]?.length ?? 0)));
  const aligned = lines.map((line) =>
    line.map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0))),
  );
  return `\n${aligned.map((cells) => `   ${cells.join("  ")}`.trimEnd()).join("\n")}`;
}

function tellGoals(judged: readonly Judged[], outcomes: readonly Outcome[]): string {
  const missed = judged.filter(({ isMet }) => !isMet);
  const without = outcomes.filter(({ result }) => result.kind !== "measured").map(({ name }) => name);
  return [
    `${judged.length - missed.length} of ${judged.length} goals met${missed.length > 0 ? "; missed:" : ""}`,
    ...missed.map(({ benchmark, table, row, figure }) => {
      const { name, value, unit, goal } = figure;
      const where = [benchmark, table, row, name].filter((part) => part !== undefined).join(" / ");
      return `   ${where}: ${valueText(value, unit)}${goal === undefined ? "" : `, meant to be ${goalText(goal, unit)}`}`;
    }),
    ...(without.length > 0 ? [`No figures of: ${without.join(", ")}`] : []),
  ].join("\n");
}

/** A figure that has a goal. */
interface Judged {
  readonly benchmark: string;
  readonly table: string | undefined;
  readonly row: string;
  readonly figure: Figure;
  readonly isMet: boolean;
}

/** All figures that have a goal, in the order in which they were measured. */
function judge(outcomes: readonly Outcome[]): Judged[] {
  const judged: Judged[] = [];
  for (const { name: benchmark, result } of outcomes) {
    for (const { title: table, rows } of result.kind === "measured" ? result.tables : []) {
      for (const { name: row, figures } of rows) {
        for (const figure of figures) {
          if (figure.goal !== undefined)
            judged.push({ benchmark, table, row, figure, isMet: isMet(figure.value, figure.goal) });
        }
      }
    }
  }
  return judged;
}

/** A figure as it is printed, with what it is beside and whether it reaches its goal. */
function figureText({ value, unit, beside, goal }: Figure): string {
  const of = beside === undefined ? "" : ` ${beside}`;
  const verdict =
    goal === undefined ? "" : ` [${goalText(goal, unit)}: ${isMet(value, goal) ? "met" : "MISSED"}]`;
  return `${valueText(value, unit)}${of}${verdict}`;
}

/** What is meant to be reached, with the unit unless it is a ratio. */
function goalText(goal: Goal, unit: Unit): string {
  const [words, value] = "atMost" in goal ? ["at most", goal.atMost] : ["at least", goal.atLeast];
  return `${words} ${unit === "×" || unit === "count" ? value : valueText(value, unit)}`;
}

function valueText(value: number, unit: Unit): string {
  switch (unit) {
    case "×":
      return `${value.toFixed(2)} ×`;
    case "bytes": {
      const units = ["KB", "MB", "GB", "TB"];
      const at = Math.min(
        units.length,
        Math.max(1, Math.floor(Math.log2(Math.max(1, Math.abs(value))) / 10)),
      );
      return `${(value / 1024 ** at).toFixed(1)} ${units[at - 1]}`;
    }
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
