import { performance } from "node:perf_hooks";
import { Broken, signatureOf } from "./broken.ts";
import type { Coverage, Reached } from "./coverage.ts";
import { minimise } from "./minimise.ts";
import { mutate } from "./mutate.ts";
import { type Random, seededRandom } from "./random.ts";
import type { Checker, Target } from "./target.ts";

/** An input that breaks the property. */
export interface Finding {
  readonly signature: string;
  readonly message: string;
  /** As short as it was made. */
  readonly input: string;
}

export interface SearchReport {
  readonly inputs: number;
  /** What the kept inputs reach, and what the search has reached in the end. */
  readonly reachedBefore: number;
  readonly reached: number;
  readonly findings: readonly Finding[];
}

interface SearchOptions {
  readonly target: Target;
  readonly checker: Checker;
  readonly coverage: Coverage;
  readonly words: readonly string[];
  readonly kept: readonly string[];
  readonly seed: number;
  /** Ends after so many seconds or inputs, whichever is first; the kept inputs are always tried. */
  readonly seconds: number;
  readonly mostInputs?: number;
  /** Ends with so many findings, 8 when left out: one fault has often many faces. */
  readonly mostFindings?: number;
  /** Told of each input before it is tried. */
  readonly onInput: (input: string) => void;
}

const findingsByDefault = 8;
const triesToMinimise = 3000;

/**
 * Looks for inputs that break a target's property: changes of known inputs are tried, and one that reaches what none has
 * reached becomes a known one.
 */
export async function search(options: SearchOptions): Promise<SearchReport> {
  return new Search(options).run();
}

class Search {
  readonly #options: SearchOptions;
  /** Each block that was reached, with how often one input ran it at the most. */
  readonly #reached = new Map<string, number>();
  readonly #population: [string, ...string[]];
  readonly #findings = new Map<string, Finding>();
  readonly #until: number;
  #inputs = 0;

  constructor(options: SearchOptions) {
    this.#options = options;
    this.#population = [...options.target.seeds];
    this.#until = performance.now() + options.seconds * 1000;
  }

  async run(): Promise<SearchReport> {
    const { target, kept, seed, words, coverage } = this.#options;
    const random = seededRandom(seed);
    await coverage.take();
    for (const input of [...target.seeds, ...kept]) {
      await this.#check(input);
      await this.#learn(input, await coverage.take());
    }
    const reachedBefore = this.#reached.size;
    while (!this.#isOver()) {
      const batch = Array.from({ length: target.batch ?? 50 }, () =>
        mutate(this.#chosen(random), random, {
          other: this.#chosen(random),
          words,
          longest: target.longest,
        }),
      );
      await this.#tryBatch(batch);
    }
    return {
      inputs: this.#inputs,
      reachedBefore,
      reached: this.#reached.size,
      findings: [...this.#findings.values()],
    };
  }

  #isOver(): boolean {
    return (
      performance.now() > this.#until ||
      this.#inputs >= (this.#options.mostInputs ?? Number.POSITIVE_INFINITY) ||
      this.#findings.size >= (this.#options.mostFindings ?? findingsByDefault)
    );
  }

  /** Half of the time one of the newest, which nobody has changed much yet; mostly the shorter of two, which is quicker. */
  #chosen(random: Random): string {
    const [first, ...others] = random.oneIn(2) ? this.#population : this.#population.slice(-20);
    const one = random.pick(first === undefined ? this.#population : [first, ...others]);
    const other = random.pick(this.#population);
    return other.length < one.length && !random.oneIn(3) ? other : one;
  }

  /** One look at what all of them reached is enough where that is nothing new, which is most often so. */
  async #tryBatch(batch: readonly string[]): Promise<void> {
    const tried: string[] = [];
    for (const input of batch) {
      if (this.#isOver()) return;
      tried.push(input);
      await this.#check(input);
    }
    const reached = await this.#options.coverage.take();
    if (!this.#isNews(tried, reached)) return;
    const [only, ...others] = tried;
    if (only !== undefined && others.length === 0) return this.#learn(only, reached);
    // Which of them it was is found by halves.
    const middle = Math.ceil(tried.length / 2);
    await this.#tryBatch(tried.slice(0, middle));
    await this.#tryBatch(tried.slice(middle));
  }

  async #learn(input: string, reached: Reached): Promise<void> {
    if (this.#isNews([input], reached)) this.#population.push(input);
    for (const [block, count] of reached.blocks) {
      this.#reached.set(block, Math.max(count, this.#reached.get(block) ?? 0));
    }
    const most = this.#options.target.mostSteps?.(input);
    if (most !== undefined && reached.steps > most)
      await this.#found(input, tooManySteps(reached.steps, most));
  }

  /** A block that none has reached, or one that runs twice as often as with any input so far. */
  #isNews(tried: readonly string[], { blocks, steps }: Reached): boolean {
    const { mostSteps } = this.#options.target;
    if (mostSteps !== undefined && steps > tried.reduce((sum, input) => sum + mostSteps(input), 0))
      return true;
    for (const [block, count] of blocks) {
      const most = this.#reached.get(block);
      if (most === undefined || count > 2 * most * tried.length) return true;
    }
    return false;
  }

  async #check(input: string): Promise<void> {
    this.#inputs += 1;
    this.#options.onInput(input);
    try {
      await this.#options.checker.check(input);
    } catch (error) {
      await this.#found(input, error);
    }
  }

  async #found(input: string, error: unknown): Promise<void> {
    const signature = signatureOf(error);
    if (this.#findings.has(signature)) return;
    let last = error;
    const fails = async (candidate: string): Promise<boolean> => {
      this.#options.onInput(candidate);
      const failed = await this.#failure(candidate);
      if (failed === undefined || signatureOf(failed.error) !== signature) return false;
      last = failed.error;
      return true;
    };
    const least = await minimise(input, fails, triesToMinimise);
    const message = last instanceof Error ? (last.stack ?? last.message) : String(last);
    this.#findings.set(signature, { signature, message, input: least });
  }

  /** Why an input fails; how much work it was counts as well. */
  async #failure(input: string): Promise<{ readonly error: unknown } | undefined> {
    const { checker, target, coverage } = this.#options;
    const most = target.mostSteps?.(input);
    if (most !== undefined) await coverage.take();
    try {
      await checker.check(input);
    } catch (error) {
      return { error };
    }
    if (most === undefined) return undefined;
    const { steps } = await coverage.take();
    if (steps <= most) return undefined;
    return { error: tooManySteps(steps, most) };
  }
}

function tooManySteps(steps: number, most: number): Broken {
  return new Broken("the work is bounded by the length of the input", { steps, most });
}
