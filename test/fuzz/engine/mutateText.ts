import type { Random } from "./random.ts";

/** What readers of text trip over: ends, marks, halves of characters, what drives a terminal, numbers at an edge. */
const odd = [
  ...[
    "\0",
    "\t",
    "\n",
    "\r",
    "\r\n",
    "\u001b",
    "\u001b[",
    "\u001b]8;;",
    "\u009b",
    "\u0007",
    "\u0085",
    "\u2028",
  ],
  ...[
    "\ufeff",
    "\ud800",
    "\udc00",
    "\u202e",
    "\u2066",
    "\u00ad",
    "\u200d",
    "\u0301",
    "\ufffd",
    "İ",
    "ß",
    "😀",
    "é",
  ],
  ...[
    "0",
    "-1",
    "-0",
    "1e999",
    "1e308",
    "9007199254740993",
    "18446744073709551616",
    "0x1f",
    "1_0",
    "00",
    ".5",
    "5.",
  ],
  ...[
    "'",
    '"',
    "`",
    "\\",
    "/",
    "//",
    "..",
    "../",
    "%",
    "%00",
    "%zz",
    "${{",
    "}}",
    "$",
    "{",
    "}",
    "[",
    "]",
    "(",
    ")",
  ],
  ...[":", ";", ",", "&", "*", "#", "?", "=", "@", "|", ">", "<", "!", "~", " ", "  ", "-", "--", "- ", ": "],
  ...[
    "__proto__",
    "constructor",
    "toString",
    "hasOwnProperty",
    "null",
    "true",
    "undefined",
    "NaN",
    "[]",
    "{}",
  ],
] as const;

type Change = (text: string, random: Random, others: Others) => string;

interface Others {
  /** Another input that reached something. */
  readonly other: string;
  readonly words: readonly string[];
}

const spot = (text: string, random: Random) => random.below(text.length + 1);

function piece(text: string, random: Random): { from: number; to: number } {
  const from = spot(text, random);
  const most = random.oneIn(4) ? text.length - from : Math.min(text.length - from, 1 + random.below(12));
  return { from, to: from + random.below(most + 1) };
}

const insert = (text: string, at: number, what: string) => text.slice(0, at) + what + text.slice(at);

function word(random: Random, { words }: Others): string {
  const [first, ...rest] = words;
  return first === undefined || random.oneIn(2) ? random.pick(odd) : random.pick([first, ...rest]);
}

const changes: readonly [Change, ...Change[]] = [
  (text, random, others) => insert(text, spot(text, random), word(random, others)),
  (text, random, others) => {
    const { from, to } = piece(text, random);
    return text.slice(0, from) + word(random, others) + text.slice(to);
  },
  (text, random) => {
    const { from, to } = piece(text, random);
    return text.slice(0, from) + text.slice(to);
  },
  (text, random) => {
    const { from, to } = piece(text, random);
    return insert(text, spot(text, random), text.slice(from, to));
  },
  (text, random) => {
    const { from, to } = piece(text, random);
    return insert(text, to, text.slice(from, to).repeat(2 ** random.below(random.oneIn(8) ? 12 : 4)));
  },
  (text, random, { other }) => {
    const { from, to } = piece(other, random);
    return insert(text, spot(text, random), other.slice(from, to));
  },
  (text, random, { other }) => text.slice(0, spot(text, random)) + other.slice(spot(other, random)),
  (text, random) => {
    const at = random.below(text.length || 1);
    return (
      text.slice(0, at) +
      String.fromCharCode(random.below(random.oneIn(4) ? 65_536 : 256)) +
      text.slice(at + 1)
    );
  },
  (text, random) => text.slice(0, spot(text, random)),
  (text, random) => text.slice(spot(text, random)),
  onALine((line, random) => " ".repeat(random.below(8)) + line.trimStart()),
  onALine(() => undefined),
  onALine((line) => `${line}\n${line}`),
  (text, random) => {
    const lines = text.split("\n");
    const from = random.below(lines.length);
    const [line = ""] = lines.splice(from, 1);
    lines.splice(random.below(lines.length + 1), 0, line);
    return lines.join("\n");
  },
  (text, random) => {
    const numbers = [...text.matchAll(/-?\d+(?:\.\d+)?/g)];
    const at = numbers[random.below(numbers.length || 1)];
    if (at === undefined) return text;
    const becomes = random.pick([
      "0",
      "-1",
      "1",
      String(Number(at[0]) + 1),
      `${at[0]}0`,
      "1e9",
      "0.5",
      "99999999999999999999",
    ]);
    return text.slice(0, at.index) + becomes + text.slice(at.index + at[0].length);
  },
  (text, random) => {
    const { from, to } = piece(text, random);
    const [open, close] = random.pick([
      ["{", "}"],
      ["[", "]"],
      ['"', '"'],
      ["'", "'"],
      ["[", ""],
      ["{a: ", ""],
      ["- ", ""],
    ]);
    const deep = random.oneIn(6) ? 2 ** random.below(12) : 1;
    return (
      text.slice(0, from) +
      (open ?? "").repeat(deep) +
      text.slice(from, to) +
      (close ?? "").repeat(deep) +
      text.slice(to)
    );
  },
  (text, random) => {
    const { from, to } = piece(text, random);
    const inside = text.slice(from, to);
    return (
      text.slice(0, from) + (random.oneIn(2) ? inside.toUpperCase() : inside.toLowerCase()) + text.slice(to)
    );
  },
];

/** @returns undefined from `change` to leave the line out. */
function onALine(change: (line: string, random: Random) => string | undefined): Change {
  return (text, random) => {
    const lines = text.split("\n");
    const at = random.below(lines.length);
    const becomes = change(lines[at] ?? "", random);
    return [...lines.slice(0, at), ...(becomes === undefined ? [] : [becomes]), ...lines.slice(at + 1)].join(
      "\n",
    );
  };
}

/** One change, as a careless person, a broken program or a hostile one would make it. */
export function mutateText(text: string, random: Random, others: Others): string {
  return random.pick(changes)(text, random, others);
}
