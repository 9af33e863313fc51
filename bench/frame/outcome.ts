import { type Figure, isMet, type Measured, type NotMeasured } from "../benchmark.ts";

/** What came of one benchmark; one that failed is told like the others, and none is left out. */
export interface Outcome {
  readonly name: string;
  readonly decides: string;
  readonly seconds: number;
  /** The load on the machine when it began. */
  readonly load: readonly number[];
  readonly result: Measured | NotMeasured | { readonly kind: "failed"; readonly why: string };
}

/** A figure that has a goal. */
export interface Judged {
  readonly benchmark: string;
  readonly table: string | undefined;
  readonly row: string;
  readonly figure: Figure;
  readonly isMet: boolean;
}

/** All figures that have a goal, in the order in which they were measured. */
export function judge(outcomes: readonly Outcome[]): Judged[] {
  return outcomes.flatMap(({ name: benchmark, result }) =>
    result.kind !== "measured"
      ? []
      : result.tables.flatMap((table) =>
          table.rows.flatMap((row) =>
            row.figures.flatMap((figure) =>
              figure.goal === undefined
                ? []
                : [
                    {
                      benchmark,
                      table: table.title,
                      row: row.name,
                      figure,
                      isMet: isMet(figure.value, figure.goal),
                    },
                  ],
            ),
          ),
        ),
  );
}
