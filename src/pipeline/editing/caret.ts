import { largestFile } from "../parse/parsePipeline.ts";
import { type Outline, outlineOfTree } from "./outline.ts";
import {
  type Crumb,
  type Entry,
  type MapTree,
  readTree,
  type Span,
  type Spot,
  spotAt,
  startOfLine,
  type TextTree,
  type Tree,
} from "./tree.ts";

/** Where someone is typing: what the file says of the place, whether or not anything stands there yet. */
export interface Caret {
  /** Of the file with a word at the caret, so that it is what it will be. */
  readonly outline: Outline;
  readonly spot: CaretSpot;
  /** What is replaced by what is chosen: never more than stands on the caret's line, which is all that an editor allows. */
  readonly word: Span;
  /** Whether the caret is in a text that began on a line above. */
  readonly isBegunAbove: boolean;
  /** What of the word stands before the caret. */
  readonly typed: string;
  /** What stands behind the word on its line. */
  readonly rest: string;
}

type CaretSpot =
  /** A name of a map; the last crumb is its entry. `others` are the map's other names. */
  | {
      readonly kind: "name";
      readonly crumbs: readonly Crumb[];
      readonly isFlow: boolean;
      readonly others: ReadonlySet<string>;
      readonly column: number;
    }
  /** A value: behind a name, or an entry of a list, to which the crumbs lead. */
  | {
      readonly kind: "value";
      readonly crumbs: readonly Crumb[];
      readonly isFlow: boolean;
      readonly style: "plain" | "quoted" | "block";
      /** Whether a block's map or list can begin here: nothing stands before it but white space, or a list's dash. */
      readonly isFresh: boolean;
      readonly column: number;
    }
  /** Where a list's next dash would stand. */
  | { readonly kind: "dash"; readonly crumbs: readonly Crumb[]; readonly column: number }
  /** What stands there belongs to nothing. */
  | { readonly kind: "nowhere" };

/** Of Unicode's private use, so that YAML takes it for a letter and hardly any file holds it. */
const mark = "\uE000";
/** Twice, since of a text in quotes that are still open the YAML library drops the last character. */
const marks = mark.repeat(2);

/** @returns undefined where nothing can be suggested: in a comment, in a text that is too large, or in what can't be read. */
export function caretAt(text: string, offset: number): Caret | undefined {
  if (text.length > largestFile) return undefined;
  const wordEnd = offset + (/^[\p{L}\p{N}_$./-]*/u.exec(text.slice(offset, offset + 200))?.[0].length ?? 0);
  const before = text.slice(0, wordEnd);
  // What stands behind the caret may be anything; what stands before it alone says where one is.
  const tree = readTree(before + marks);
  const spot = markedSpot(tree, before.length);
  if (spot === undefined) return undefined;
  const behind = text.slice(wordEnd);
  const { tree: whole, spot: better } = inWhole(before, behind, spot);
  const begin = spot.text.style === "quoted" ? spot.text.start + 1 : spot.text.start;
  // In a tag or an anchor, which stands before its text.
  if (begin > offset) return undefined;
  const lineStart = startOfLine(text, offset);
  const isBegunAbove = begin < lineStart;
  const start = isBegunAbove ? offset - text.slice(lineStart, offset).trimStart().length : begin;
  return {
    outline: withBoth(outlineOfTree(whole), outlineOfTree(tree)),
    spot: caretSpot(better ?? spot, text),
    word: { start, end: wordEnd },
    isBegunAbove,
    typed: text.slice(start, offset),
    rest: text.slice(wordEnd).split("\n", 1)[0] ?? "",
  };
}

/** How many characters stand before an offset on its line. */
function columnOf(text: string, offset: number): number {
  return offset - startOfLine(text, offset);
}

/**
 * The same place in the whole file, which knows what stands beside it; no spot where what stands behind the caret makes
 * another thing of it.
 */
function inWhole(
  before: string,
  behind: string,
  spot: Spot,
): { tree: Tree | undefined; spot: Spot | undefined } {
  // Without a colon a name would go on with the next line; and a comment right behind a word would be a part of it.
  const asName = readTree(`${before}${marks}${/^\s*:/.test(behind) ? "" : ": "}${behind}`);
  const named = markedSpot(asName, before.length);
  if (named?.isName === true) {
    const holder = pathOf(named.crumbs.slice(0, -1));
    const last = named.crumbs.at(-1);
    const isAmongOthers = last?.kind === "entry" && last.map.entries.length > 1;
    const isSame = spot.isName
      ? pathOf(named.crumbs) === pathOf(spot.crumbs)
      : isAmongOthers && holder === pathOf(spot.crumbs);
    if (isSame) return { tree: asName, spot: named };
  }
  const tree = readTree(before + marks + (behind.startsWith("#") ? " " : "") + behind);
  const found = markedSpot(tree, before.length);
  const isSame =
    found !== undefined && found.isName === spot.isName && pathOf(found.crumbs) === pathOf(spot.crumbs);
  return { tree, spot: isSame ? found : undefined };
}

function markedSpot(tree: Tree | undefined, offset: number): Spot | undefined {
  const spot = spotAt(tree, offset + 1);
  return spot?.text.text.includes(mark) === true ? spot : undefined;
}

/** The names and numbers that lead to a place, without what is just being typed. */
function pathOf(crumbs: readonly Crumb[]): string {
  return JSON.stringify(
    crumbs.map((crumb) => (crumb.kind === "item" ? crumb.index : crumb.entry.name.text.split(mark)[0])),
  );
}

function caretSpot(spot: Spot, text: string): CaretSpot {
  const { crumbs } = spot;
  const { start, style } = spot.text;
  const column = columnOf(text, start);
  const isFlow = crumbs.some((crumb) => (crumb.kind === "item" ? crumb.list : crumb.map).isFlow);
  const last = crumbs.at(-1);
  if (spot.isName && last?.kind === "entry") {
    const { entries } = last.map;
    const [first] = entries;
    if (!isFlow && first !== undefined && columnOf(text, first.name.start) !== column) {
      return openList(last.map, spot.text, crumbs.slice(0, -1), column, text);
    }
    const others = entries.filter(({ name }) => name !== spot.text).map(({ name }) => name.text);
    return { kind: "name", crumbs, isFlow, others: new Set(others), column };
  }
  const isFresh = /^(?:\s*- )*\s*$/.test(text.slice(start - column, start));
  return { kind: "value", crumbs, isFlow, style, isFresh, column };
}

/** A name that is indented as no other of its map is: perhaps it begins an entry of a list that stands before it. */
function openList(
  map: MapTree,
  name: TextTree,
  crumbs: readonly Crumb[],
  column: number,
  text: string,
): CaretSpot {
  let way = crumbs;
  let tree: Tree | undefined = {
    ...map,
    entries: map.entries.filter((entry) => entry.name.end < name.start),
  };
  for (;;) {
    if (tree?.kind === "map") {
      const entry: Entry | undefined = tree.entries.at(-1);
      if (entry === undefined) break;
      way = [...way, { kind: "entry", map: tree, entry }];
      tree = entry.value;
    } else if (tree?.kind === "list" && !tree.isFlow) {
      if (columnOf(text, tree.start) === column) return { kind: "dash", crumbs: way, column };
      way = [...way, { kind: "item", list: tree, index: tree.items.length - 1 }];
      tree = tree.items.at(-1);
    } else {
      break;
    }
  }
  return { kind: "nowhere" };
}

/** The second tells what the first, which ends at the caret, can't; but it may be broken behind the caret. */
function withBoth(whole: Outline, before: Outline): Outline {
  const names = new Set(whole.resources.map(({ name }) => name.text));
  const lost = before.resources.filter(({ name }) => !names.has(name.text) && !name.text.includes(mark));
  return {
    ...whole,
    resources: [...whole.resources.filter(({ name }) => !name.text.includes(mark)), ...lost],
  };
}
