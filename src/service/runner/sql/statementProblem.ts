import type { SqlWork } from "./sqlConnection.ts";

/** What is wrong with one of the statements, and what became of the others. `index` counts from 0. */
export function describeStatementProblem(
  { isTransaction, statements }: Pick<SqlWork, "isTransaction" | "statements">,
  index: number,
  problem: string,
): string {
  if (!isTransaction) return problem;
  const where =
    index < statements.length ? `statement ${index + 1} of ${statements.length}` : "the transaction's end";
  return `${where}: ${problem}\nthe transaction was undone`;
}

export const severalStatements =
  "a `query` is one statement, and this one goes on with another; put them into a list, as `statements`";
