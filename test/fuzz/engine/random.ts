/** Numbers that follow from a seed alone, so that a search can be done again. */
export interface Random {
  /** A whole number from 0 up to, but not, `below`. */
  below(below: number): number;
  pick<T>(items: readonly [T, ...T[]]): T;
  /** Whether one of so many throws came out. */
  oneIn(many: number): boolean;
}

/** @param seed any whole number; its last 32 bits count. */
export function seededRandom(seed: number): Random {
  let state = seed | 0;
  const next = (): number => {
    // A Weyl sequence, whose every number is then mixed by multiplications and shifts.
    state = (state + 0x9e3779b9) | 0;
    let mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return (mixed ^ (mixed >>> 15)) >>> 0;
  };
  const below = (most: number) => Math.floor((next() / 2 ** 32) * most);
  return {
    below,
    pick: ([first, ...others]) => {
      const at = below(others.length + 1);
      return at === 0 ? first : (others[at - 1] ?? first);
    },
    oneIn: (many) => below(many) === 0,
  };
}

/** A seed that follows from a text: what a check does at random is the same each time for the same input. */
export function seedOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash;
}
