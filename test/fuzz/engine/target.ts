/** Something that reads what comes from outside, with what has to be true of it for every input. */
export interface Target {
  readonly name: string;
  /** What it is that must hold, in a sentence. */
  readonly property: string;
  /** Files and folders of the project whose parts count as reached. */
  readonly covers: readonly [string, ...string[]];
  /** Whole inputs to begin with; the corpus is added to them. Targets of bytes have one character a byte. */
  readonly seeds: readonly [string, ...string[]];
  /** Pieces that mean something here, beside the texts in the covered files. */
  readonly words?: readonly string[];
  /** The longest input that is tried, in UTF-16 units. */
  readonly longest: number;
  /** Whether an input is bytes, one character each, and not text. */
  readonly isBytes?: boolean;
  /** The most parts of the covered code that one input may have run, each as often as it ran; left out where nothing can loop. */
  readonly mostSteps?: (input: string) => number;
  /** How many inputs one look at what was reached is for; 50 when left out. Fewer where an input is slow. */
  readonly batch?: number;
  readonly open: () => Checker | Promise<Checker>;
}

export interface Checker {
  /** Throws whatever says best how the property is broken. */
  check(input: string): void | Promise<void>;
  close?(): Promise<void>;
}
