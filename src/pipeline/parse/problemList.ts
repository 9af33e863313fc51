import { inOrder, type Place, type Problem } from "./problem.ts";
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
