import { type Alias, isAlias, isMap, isScalar, isSeq, Lexer, type Node, parseDocument } from "yaml";
import { largestFile } from "../../contract/limits.ts";
import type { Fix, Place, Problem } from "../mistakes/problem.ts";
import { edited, isMended, mostProblems, Repairs, type Troubles } from "../mistakes/repairs.ts";
import { blockAround, change, type Slip } from "../mistakes/slip.ts";
import { slipsBehind } from "../mistakes/slips.ts";
import { quoteSlip } from "../mistakes/valueSlips.ts";
import { Converter } from "./convert.ts";

export type Path = readonly PropertyKey[];

/** A parsed YAML text: plain data with the position of each part. */
export type YamlSource = ReturnType<typeof sourceOf>;

type ReadYaml = YamlSource | { readonly kind: "invalid"; readonly problems: readonly Problem[] };

/** In UTF-16 units: the most of all mended texts that is parsed again, since a hostile file takes up to a second each time. */
const mostReadAgain = 128 * 1024;

/**
 * Parses one YAML document. A mistake that can be mended with certainty is mended for the reading of what follows, so that
 * each is one problem and hides no other. Never throws.
 *
 * @param isField whether pipeline files have a field of this name.
 */
export function readYaml(text: string, isField: (name: string) => boolean): ReadYaml {
  const repairs = new Repairs(text);
  let budget = mostReadAgain;
  const again: Read = (next) => {
    budget -= next.length;
    return budget < 0 ? undefined : read(next);
  };
  let reading = read(text);
  const conflict = reading.errors.length > 0 ? conflictMarker.exec(text) : null;
  if (conflict !== null) {
    // What follows isn't checked: every line is there twice.
    const end = conflict.index + conflict[0].length;
    repairs.report({ message: mergeConflict, start: conflict.index, end }, text);
    return { kind: "invalid", problems: repairs.problems };
  }
  while (repairs.problems.length < mostProblems) {
    const trouble = firstTrouble(reading, isField);
    if (trouble === undefined) break;
    const next = mended(reading, trouble, repairs, again) ?? shortened(reading, trouble, repairs, again);
    if (next === undefined) break;
    reading = next;
  }
  if (reading.errors.length > 0) return { kind: "invalid", problems: repairs.problems };
  for (const { message, start, end } of reading.converter.complaints) {
    repairs.report({ message, start, end }, reading.text);
  }
  if (reading.converter.isTooLarge) return { kind: "invalid", problems: repairs.problems };
  return sourceOf(reading, repairs);
}

const conflictMarker = /^<{7} .*$/m;
const mergeConflict = "a merge conflict of git begins here: keep one of its sides, and remove its markers";

/** Reads a mended text, until too much has been read. */
type Read = (text: string) => Reading | undefined;

/** The text read with the first slip mended whose fix helps. */
function mended(
  reading: Reading,
  { slips, at }: Trouble,
  repairs: Repairs,
  again: Read,
): Reading | undefined {
  for (const slip of slips) {
    if (slip.fix === undefined) continue;
    const { edits } = slip.fix;
    const next = again(edited(reading.text, edits));
    if (next === undefined || !isMended(edits, slip, at, next.troubles)) continue;
    repairs.mend(slip, edits, reading.text);
    return next;
  }
  return undefined;
}

/** Reports an error that can't be mended, and reads the text without its line. */
function shortened(
  { text, errors }: Reading,
  { slips, at }: Trouble,
  repairs: Repairs,
  again: Read,
): Reading | undefined {
  const slip = slips.find(({ fix }) => fix === undefined);
  if (errors.length === 0 || slip === undefined) return undefined;
  const { line, block } = blockAround(text, at);
  const edits = slip.recovery ?? [{ span: { start: line.start, end: line.end }, text: "" }];
  const next = again(edited(text, edits));
  if (next === undefined || !isMended(edits, { ...slip, end: at }, at, next.troubles)) {
    repairs.report(slip, text);
    return undefined;
  }
  if (slip.recovery !== undefined) repairs.mend(slip, edits, text);
  else repairs.leaveOut(slip, edits, text, block);
  return next;
}

type Reading = ReturnType<typeof read>;

function read(text: string) {
  const document = parseDocument(text, {
    prettyErrors: false,
    // The library's check is quadratic, which takes minutes for a hostile file.
    uniqueKeys: false,
    stringKeys: true,
    logLevel: "error",
  });
  const found = [...document.errors, ...document.warnings];
  const tooDeep = found.find(({ code }) => code === "RESOURCE_EXHAUSTION");
  // In the order of the text. Where the nesting exhausts the stack varies, and so do the errors after that.
  const errors = tooDeep ? [tooDeep] : found.toSorted((one, other) => one.pos[0] - other.pos[0]);
  const converter = new Converter(text);
  const value = errors.length > 0 ? null : converter.convert(document.contents, 0);
  const troubles: Troubles = {
    errors: errors.map(({ pos }) => pos[0]),
    complaints: converter.complaints.map(({ start }) => start),
  };
  return { text, errors, contents: document.contents, converter, value, troubles };
}

interface Trouble {
  /** What may have caused it, the likeliest first. */
  readonly slips: readonly Slip[];
  /** The error's offset; 0 without one. */
  readonly at: number;
}

/** The first error with what may have caused it; without errors, all complaints that may be mended. */
function firstTrouble(
  { text, errors, converter }: Reading,
  isField: (name: string) => boolean,
): Trouble | undefined {
  const [error] = errors;
  if (error !== undefined) return { slips: slipsBehind(text, error, isField), at: error.pos[0] };
  const slips = converter.complaints.filter(({ fix }) => fix !== undefined);
  return slips.length === 0 ? undefined : { slips, at: 0 };
}

function sourceOf({ text, contents, converter, value }: Reading, repairs: Repairs) {
  const find = (path: Path) => findNode(contents, path, converter.targets);
  return {
    kind: "valid" as const,
    value,
    /** The mistakes in the YAML itself; the value is read as if they were mended. */
    problems: repairs.problems,
    /** Whether a problem at this place would only follow from one of those in the YAML itself. */
    isConsequence: (place: Place): boolean => repairs.isConsequence(place),
    /** The position of the value at a path, or of its name when the value is empty. */
    place: (path: Path): Place => {
      const { name, node } = find(path);
      const empty = node === null || (isScalar(node) && node.range?.[0] === node.range?.[1]);
      return repairs.place(startOf(empty ? (name ?? node) : node));
    },
    /** The position of the name of the entry at a path. */
    placeOfName: (path: Path): Place => {
      const { name, node } = find(path);
      return repairs.place(startOf(name ?? node));
    },
    /** The offset in the file of a character of the text at a path; of the text's beginning where it isn't known. */
    offsetIn: (path: Path, at: number): number => {
      const { node } = find(path);
      const [start = 0, end = start] = (isScalar(node) ? node.range : undefined) ?? [startOf(node)];
      return start + (scalarOffsets(text.slice(start, end))[at] ?? 0);
    },
    placeAt: (offset: number): Place => repairs.place(offset),
    /** A number or boolean as it was written: `1.10` stays `1.10`. */
    written: (path: Path): string | undefined => {
      const { node } = find(path);
      return isScalar(node) ? node.source : undefined;
    },
    /** The fix that puts the number or boolean at a path in quotes. */
    quotesFor: (path: Path): Fix | undefined => {
      const { node } = find(path);
      const [start, end] = (isScalar(node) ? node.range : undefined) ?? [];
      if (start === undefined || end === undefined || start === end) return undefined;
      return repairs.fixOf(quoteSlip(text, { start, end }), text);
    },
    /** The fix that replaces the scalar at a path, or its whole entry, by a text; undefined for lists and maps. */
    replacing: (path: Path, what: "value" | "entry", put: string): Fix | undefined => {
      const { name, node } = find(path);
      const [, end] = (isScalar(node) ? node.range : undefined) ?? [];
      const [start] = (what === "entry" ? name : node)?.range ?? [];
      if (start === undefined || end === undefined || start === end) return undefined;
      return repairs.fixOf({ message: "", start, end, fix: change("change", start, end, put) }, text);
    },
  };
}

interface Found {
  readonly name: Node | null;
  readonly node: Node | null;
}

/** The node at a path, or its nearest existing ancestor. */
function findNode(root: Node | null, path: Path, targets: ReadonlyMap<Alias, Node>): Found {
  let found: Found = { name: null, node: root };
  for (const part of path) {
    const holder = isAlias(found.node) ? (targets.get(found.node) ?? null) : found.node;
    if (isSeq<Node>(holder)) {
      const item = typeof part === "number" ? holder.items[part] : undefined;
      if (item === undefined) return found;
      found = { name: null, node: item };
    } else if (isMap<Node, Node | null>(holder)) {
      const pair = holder.items.find(({ key }) => isScalar(key) && String(key.value ?? "") === part);
      if (pair === undefined) return found;
      found = { name: pair.key, node: pair.value };
    } else {
      return found;
    }
  }
  return found;
}

function startOf(node: Node | null): number {
  return node?.range?.[0] ?? 0;
}

/**
 * The YAML library takes some 10 µs for each token, and the service reads files of cloned repositories, which may be hostile. A
 * file of three thousand steps has fewer.
 */
const mostTokens = 128 * 1024;

/** A text of this length has no more tokens than that. */
const neverTooMany = mostTokens / 2;

/** Why a text is not read, as the end of `the file …`; undefined for one that is. */
export function problemOfSize(text: string): string | undefined {
  if (text.length > largestFile) return "is larger than 1 MiB, the most that is read";
  if (text.length <= neverTooMany) return undefined;
  let count = 0;
  for (const _ of new Lexer().lex(text)) {
    count += 1;
    if (count > mostTokens) return `has too many values to be read: put some of its steps into a part`;
  }
  return undefined;
}

/**
 * The offset of each character of a scalar's value in the scalar as it is written, with its quotes or its `|`. Characters after a
 * line break that YAML folds, or after an escape by a code, have none.
 */
export function scalarOffsets(written: string): readonly number[] {
  if (/^[|>]/.test(written)) return blockOffsets(written);
  const quote = /^['"]/.exec(written)?.[0];
  const offsets: number[] = [];
  let at = quote === undefined ? 0 : 1;
  const end = written.length - (quote === undefined ? 0 : 1);
  while (at < end && !/[\r\n]/.test(written.charAt(at))) {
    offsets.push(at);
    if (quote === '"' && written[at] === "\\") {
      if (/[xuU]/.test(written.charAt(at + 1))) break;
      at += 1;
    } else if (quote === "'" && written[at] === "'") at += 1;
    at += 1;
  }
  return offsets;
}

/** For a block with `>`, only up to its first empty line, after which line breaks count differently. */
function blockOffsets(written: string): readonly number[] {
  const [header = "", ...lines] = written.split(/(?<=\n)/);
  const indent = /^ */.exec(lines.find((line) => line.trim() !== "") ?? "")?.[0].length ?? 0;
  const offsets: number[] = [];
  let start = header.length;
  for (const line of lines) {
    if (header.startsWith(">") && (line.trim() === "" || line[indent] === " ")) break;
    const from = Math.min(indent, line.replace(/\r?\n$/, "").length);
    for (let at = from; at < line.length; at += 1) if (line[at] !== "\r") offsets.push(start + at);
    start += line.length;
  }
  return offsets;
}
