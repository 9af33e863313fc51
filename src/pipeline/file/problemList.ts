import { nothingFilledIn } from "../mistakes/foreignWords.ts";
import { type Fix, inOrder, type Place, type Problem } from "../mistakes/problem.ts";
import { mostProblems } from "../mistakes/repairs.ts";
import type { Path, YamlSource } from "./yamlSource.ts";

/** Collects a file's problems, so that they can be reported together in the order of the file. */
export class ProblemList {
  readonly #source: YamlSource;
  readonly #problems: Problem[] = [];
  /** The first problem of the value at each path, by its index. */
  readonly #ofValues = new Map<string, number>();
  /** The files that have to be there, by their paths in the project's folder, and where they are named. */
  readonly files: { readonly path: string; readonly at: Path }[] = [];

  constructor(source: YamlSource) {
    this.#source = source;
    this.#problems.push(...source.problems);
  }

  get full(): boolean {
    return this.#problems.length >= mostProblems;
  }

  /**
   * Adds a problem of the value at a path.
   * @param instead what fixes it in place of the value.
   */
  add(path: Path, message: string, instead?: string): void {
    const fix = instead === undefined ? undefined : this.#source.replacing(path, "value", instead);
    if (this.full) return;
    const index = this.#problems.length;
    this.#addAt(this.#source.place(path), message, fix);
    const key = keyOf(path);
    if (this.#problems.length > index && !this.#ofValues.has(key)) this.#ofValues.set(key, index);
  }

  /** Whether a problem says that nothing can be filled in at a path. */
  isFixed(path: Path): boolean {
    const index = this.#ofValues.get(keyOf(path));
    return index !== undefined && this.#problems[index]?.message.endsWith(nothingFilledIn) === true;
  }

  /** Rewords the first problem of the value at a path. @returns whether there is one. */
  reword(path: Path, message: string): boolean {
    const index = this.#ofValues.get(keyOf(path));
    const problem = index === undefined ? undefined : this.#problems[index];
    if (index === undefined || problem === undefined) return false;
    this.#problems[index] = { ...problem, message };
    return true;
  }

  /** Adds a problem of what begins at a character of the text at a path. */
  addIn(path: Path, at: number, message: string): void {
    if (!this.full) this.#addAt(this.#source.placeAt(this.#source.offsetIn(path, at)), message);
  }

  /** Adds that a number or boolean should be a text. */
  addNotText(path: Path, message: string): void {
    const fix = this.#source.quotesFor(path);
    if (!this.full) this.#addAt(this.#source.place(path), message, fix);
  }

  /**
   * Adds a problem of the name of the entry at a path.
   * @param instead what fixes it in place of the whole entry.
   */
  addToName(path: Path, message: string, instead?: string): void {
    const fix = instead === undefined ? undefined : this.#source.replacing(path, "entry", instead);
    if (!this.full) this.#addAt(this.#source.placeOfName(path), message, fix);
  }

  sorted(): readonly Problem[] {
    return inOrder(this.#problems);
  }

  #addAt(place: Place, message: string, fix?: Fix): void {
    // Where the YAML itself is wrong, what follows from that is no second problem.
    if (this.#source.isConsequence(place)) return;
    this.#problems.push({ message, ...place, ...(fix === undefined ? {} : { fix }) });
  }
}

function keyOf(path: Path): string {
  return path.map(String).join("\n");
}
