import type { Table } from "../benchmark.ts";
import type { Machine } from "./machine.ts";
import { type Judged, judge, type Outcome } from "./outcome.ts";
import { figureText, goalText, valueText } from "./words.ts";

/** All that was measured, as a person reads it. */
export function tell(machine: Machine, outcomes: readonly Outcome[]): string {
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
