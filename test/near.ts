import fc from "fast-check";

/** What readers of text trip over: ends, marks, halves of characters, escape sequences, numbers at an edge. */
const odd: readonly string[] = [
  ..."\0|\t|\n|\r|\r\n|\u001b|\u001b[|\u001b]8;;|\u009b|\u0007|\u0085|\u2028".split("|"),
  ..."\ufeff|\ud800|\udc00|\u202e|\u2066|\u00ad|\u200d|\u0301|\ufffd|İ|ß|😀|é".split("|"),
  ..."0 -1 -0 1e999 1e308 9007199254740993 18446744073709551616 0x1f 1_0 00 .5 5.".split(" "),
  ..."' \" ` \\ / // .. ../ % %00 %zz $\u007b{ }} $ { } [ ] ( )".split(" "),
  ...[":", ";", ",", "&", "*", "#", "?", "=", "@", "|", ">", "<", "!", "~", " ", "  ", "-", "--", "- ", ": "],
  ..."__proto__ constructor toString hasOwnProperty null true undefined NaN [] {}".split(" "),
];

interface Inputs {
  /** Whole inputs, which are tried as they are and changed. Bytes have one character each. */
  readonly like: readonly [string, ...string[]];
  /** Pieces that mean something here, beside those of `like`. */
  readonly words?: readonly string[];
  /** Inputs that broke it once. */
  readonly broke?: readonly string[];
  /** In UTF-16 units. */
  readonly longest: number;
  /** How many times fewer texts are tried, where one takes long. */
  readonly fewer?: number;
}

/**
 * Checks texts like the given ones, `FC_RUNS` of them: 300 when that isn't set, of the same seed each time, so that a change
 * is judged by what it breaks. `FC_SEED` sets another. `lengths` are for `cut`.
 */
export async function holdsNear(
  inputs: Inputs,
  check: (text: string, lengths: readonly number[]) => void | Promise<void>,
): Promise<void> {
  const { FC_RUNS: runs, FC_SEED: seed } = process.env;
  const examples = [...inputs.like, ...(inputs.broke ?? [])];
  await fc.assert(
    fc.asyncProperty(
      near(inputs),
      fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1 }),
      async (...each) => {
        await check(...each);
      },
    ),
    {
      numRuns: Math.max(examples.length, Math.ceil(Number(runs ?? 300) / (inputs.fewer ?? 1))),
      ...(seed !== undefined || runs === undefined ? { seed: Number(seed ?? 20_261_121) } : {}),
      examples: examples.map((text) => [text, [3]]),
    },
  );
}

/** The pieces of a whole, their lengths as given, again and again. */
export function cut<T extends string | Uint8Array | string[]>(whole: T, lengths: readonly number[]): T[];
export function cut(whole: string | Uint8Array | string[], lengths: readonly number[]) {
  const pieces = [];
  for (let at = 0, index = 0; at < whole.length; index++) {
    const length = lengths[index % lengths.length] ?? 1;
    pieces.push(whole.slice(at, at + length));
    at += length;
  }
  return pieces;
}

/** One of the texts with some of its words and marks left out, replaced, or put in, as a careless or hostile person would. */
function near({ like, words = [], longest }: Inputs): fc.Arbitrary<string> {
  const known = [...new Set([...words, ...like.flatMap(tokensOf)])];
  const piece = fc.oneof(
    { arbitrary: fc.constantFrom(...known), weight: 4 },
    { arbitrary: fc.constantFrom(...odd), weight: 4 },
    { arbitrary: fc.string({ unit: "binary", maxLength: 4 }), weight: 2 },
    { arbitrary: fc.constantFrom(...like), weight: 1 },
  );
  const edit = fc.record({
    at: fc.nat(),
    removed: fc.oneof(fc.integer({ min: 0, max: 3 }), fc.nat(100)),
    put: fc.array(piece, { maxLength: 2 }),
    times: fc.oneof({ arbitrary: fc.constant(1), weight: 15 }, { arbitrary: fc.nat(2000), weight: 1 }),
  });
  return fc.tuple(fc.constantFrom(...like), fc.array(edit, { maxLength: 8 })).map(([text, edits]) => {
    const tokens = tokensOf(text);
    for (const { at, removed, put, times } of edits) {
      tokens.splice(
        at % (tokens.length + 1),
        removed,
        ...tokensOf(put.join("").repeat(times)).slice(0, longest),
      );
    }
    return tokens.join("").slice(0, longest);
  });
}

function tokensOf(text: string): string[] {
  return text.match(/"(?:[^"\\\n]|\\.)*"|[\w.-]+|[\s\S]/g) ?? [];
}
