/** A place in a text: `line` and `column` count from 1, columns in UTF-16 units. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

/** Something wrong in a pipeline file, and where. */
export interface Problem extends Place {
  readonly message: string;
}

/** Problems in the order in which one meets them in the text. */
export function inOrder(problems: readonly Problem[]): readonly Problem[] {
  return problems.toSorted((one, other) => one.line - other.line || one.column - other.column);
}

/** The problem as one line that editors and terminals turn into a link: `path:line:column: message`. */
export function formatProblem(file: string, problem: Problem): string {
  return `${file}:${problem.line}:${problem.column}: ${problem.message}`;
}
