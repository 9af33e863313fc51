import { isMet, type Row } from "../benchmark.ts";
import type { Machine } from "./machine.ts";
import { judge, type Outcome } from "./outcome.ts";

/** All that was measured, as one JSON object; `ok` says that nothing failed, not that the goals are met. */
export function jsonReport(machine: Machine, outcomes: readonly Outcome[]): string {
  const judged = judge(outcomes);
  return JSON.stringify({
    ok: outcomes.every(({ result }) => result.kind !== "failed"),
    command: "bench",
    machine,
    goals: { met: judged.filter(({ isMet }) => isMet).length, of: judged.length },
    benchmarks: outcomes.map(({ result, ...outcome }) => ({
      ...outcome,
      ...(result.kind === "measured"
        ? {
            ...result,
            tables: result.tables.map((table) => ({ ...table, rows: table.rows.map(withVerdicts) })),
          }
        : result),
    })),
  });
}

function withVerdicts({ name, figures }: Row) {
  return {
    name,
    figures: figures.map((figure) =>
      figure.goal === undefined ? figure : { ...figure, isMet: isMet(figure.value, figure.goal) },
    ),
  };
}
