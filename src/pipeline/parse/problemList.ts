import { inOrder, type Place, type Problem } from "./problem.ts";
import type { Path, YamlSource } from "./yamlSource.ts";

const mostProblems = 100;

/** Collects a file's problems, so that they can be reported together in the order of the file. */
export class ProblemList {
  readonly #source: YamlSource;
  readonly #problems: Problem[] = [];

  constructor(source: YamlSource) {
    this.#source = source;
  }

  /** Whether the limit of problems is reached. */
  get full(): boolean {
    return this.#problems.length >= mostProblems;
  }

  /** Adds a problem of the value at a path. */
  add(path: Path, message: string): void {
    if (!this.full) this.#addAt(this.#source.place(path), message);
  }

  /** Adds a problem of the name of the entry at a path. */
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
