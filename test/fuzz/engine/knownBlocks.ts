/** A piece of a source text, and how often it ran. */
export interface Block {
  readonly start: number;
  readonly end: number;
  readonly count: number;
}

/**
 * The blocks of functions, as far as they were ever told. V8 tells of a block only where it ran more or less often than
 * what is around it, so that one which always runs with its function has to be remembered from when it didn't.
 */
export class KnownBlocks {
  readonly #byFunction = new Map<string, Map<string, Pick<Block, "start" | "end">>>();

  /** Every known block of a function that ran, the function itself among them, with how often it did. */
  counted(url: string, whole: Block, inside: readonly Block[]): Block[] {
    const name = `${url}:${whole.start}`;
    const known = this.#byFunction.get(name) ?? new Map<string, Pick<Block, "start" | "end">>();
    this.#byFunction.set(name, known);
    for (const { start, end } of inside) known.set(`${start}-${end}`, { start, end });
    const ran = [whole];
    for (const { start, end } of known.values()) {
      // They come with what is around them first.
      const around = inside.findLast((block) => block.start <= start && end <= block.end) ?? whole;
      if (around.count > 0) ran.push({ start, end, count: around.count });
    }
    return ran;
  }
}
