import type { Path, YamlSource } from "./yamlSource.ts";

const mostProblems = 100;

/** Gathers a file's problems so that they can be told all at once, in the order of the file. */
export class ProblemList {
  readonly #source: YamlSource;
  readonly #problems: Problem[] = [];

  constructor(source: YamlSource) {
    this.#source = source;
  }

  /** Whether so many were found that looking for more helps nobody. */
  get full(): boolean {
    return this.#problems.length >= mostProblems;
  }

  /** About the value at a path. */
  add(path: Path, message: string): void {
    if (!this.full) this.#addAt(this.#source.place(path), message);
  }

  /** About the name of the entry at a path. */
  addToName(path: Path, message: string): void {
    if (!this.full) this.#addAt(this.#source.placeOfName(path), message);
  }

  sorted(): readonly Problem[] {
    return inOrder(this.#problems);
  }

  #addAt(place: Place, message: string): void {
    this.#problems.push({ message, ...place });
  }
}

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
