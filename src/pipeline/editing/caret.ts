import { problemOfSize } from "../file/yamlSource.ts";
import type { Span } from "../mistakes/problem.ts";
import type { ReadPart } from "../partFiles.ts";
import { type Outline, outlineOfTree } from "./outline.ts";
import {
  type Crumb,
  type Entry,
  type MapTree,
  readTree,
  type Spot,
  spotAt,
  startOfLine,
  type TextTree,
  type Tree,
} from "./tree.ts";

/** The position in the file's structure at which someone is typing. */
export interface Caret {
  /** The outline as it will be with a word at the caret. */
  readonly outline: Outline;
  readonly spot: CaretSpot;
  /** The range that a suggestion replaces. On the caret's line only, since editors allow no other. */
  readonly word: Span;
  /** Whether the caret is in a text that begins on an earlier line. */
  readonly isBegunAbove: boolean;
  /** The part of the word before the caret. */
  readonly typed: string;
  /** The rest of the line after the word. */
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
  /** The value of an entry or a list item; the crumbs end with it. */
  | {
      readonly kind: "value";
      readonly crumbs: readonly Crumb[];
      readonly isFlow: boolean;
      readonly style: "plain" | "quoted" | "block";
      /** Whether a block map or list can begin here: only white space and dashes precede it on the line. */
      readonly isFresh: boolean;
      readonly column: number;
    }
  /** The position of a list's next dash. */
  | { readonly kind: "dash"; readonly crumbs: readonly Crumb[]; readonly column: number }
  /** A text that belongs to no map or list. */
  | { readonly kind: "nowhere" };

/** A private-use character: valid in a YAML plain text, and rare in files. */
const mark = "\uE000";
/** Twice, since the YAML library drops the last character of a text with an unclosed quote. */
const marks = mark.repeat(2);

/** @returns undefined where nothing can be suggested: in a comment, in a file that is too large or can't be parsed. */
export function caretAt(text: string, offset: number, readPart?: ReadPart): Caret | undefined {
  if (problemOfSize(text) !== undefined) return undefined;
  const wordEnd = offset + (/^[\p{L}\p{N}_$./-]*/u.exec(text.slice(offset, offset + 200))?.[0].length ?? 0);
  const before = text.slice(0, wordEnd);
  // The text before the caret alone gives the position, since the text after it may be broken.
  const tree = readTree(before + marks);
  const spot = markedSpot(tree, before.length);
  if (spot === undefined) return undefined;
  const behind = text.slice(wordEnd);
  const { tree: whole, spot: better } = inWhole(before, behind, spot);
  const begin = spot.text.style === "quoted" ? spot.text.start + 1 : spot.text.start;
  // The caret is in a tag or an anchor before the text.
  if (begin > offset) return undefined;
  const lineStart = startOfLine(text, offset);
  const isBegunAbove = begin < lineStart;
  const start = isBegunAbove ? offset - text.slice(lineStart, offset).trimStart().length : begin;
  return {
    outline: withResourcesBefore(outlineOfTree(whole, readPart), outlineOfTree(tree)),
    spot: caretSpot(better ?? spot, text),
    word: { start, end: wordEnd },
    isBegunAbove,
    typed: text.slice(start, offset),
    rest: text.slice(wordEnd).split("\n", 1)[0] ?? "",
  };
}

function columnOf(text: string, offset: number): number {
  return offset - startOfLine(text, offset);
}

/**
 * The same position in the whole file, with its siblings after the caret. No spot where the text after the caret changes
 * what the position is.
 */
function inWhole(
  before: string,
  behind: string,
  spot: Spot,
): { tree: Tree | undefined; spot: Spot | undefined } {
  // Without a colon the name would include the next line. Below, a space keeps a comment apart from the word.
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

/** The names and indexes of a path, without the text being typed. */
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

/** For a name whose indentation differs from its map's: it may begin the next item of a list above. */
function openList(
  map: MapTree,
  name: TextTree,
  crumbs: readonly Crumb[],
  column: number,
  text: string,
): CaretSpot {
  let path = crumbs;
  let tree: Tree | undefined = {
    ...map,
    entries: map.entries.filter((entry) => entry.name.end < name.start),
  };
  for (;;) {
    if (tree?.kind === "map") {
      const entry: Entry | undefined = tree.entries.at(-1);
      if (entry === undefined) break;
      path = [...path, { kind: "entry", map: tree, entry }];
      tree = entry.value;
    } else if (tree?.kind === "list" && !tree.isFlow) {
      if (columnOf(text, tree.start) === column) return { kind: "dash", crumbs: path, column };
      path = [...path, { kind: "item", list: tree, index: tree.items.length - 1 }];
      tree = tree.items.at(-1);
    } else {
      break;
    }
  }
  return { kind: "nowhere" };
}

/** Adds the resources before the caret, which the whole file may lack if it is broken after the caret. */
function withResourcesBefore(whole: Outline, before: Outline): Outline {
  const names = new Set(whole.resources.map(({ name }) => name.text));
  const missing = before.resources.filter(({ name }) => !names.has(name.text) && !name.text.includes(mark));
  return {
    ...whole,
    resources: [...whole.resources.filter(({ name }) => !name.text.includes(mark)), ...missing],
  };
}
