import { isAlias, isMap, isScalar, isSeq, type Node, parse, parseDocument } from "yaml";
import { deepestNesting } from "../file/convert.ts";
import type { Span } from "../mistakes/problem.ts";

/** A part of a pipeline file with its range. Other nodes, such as aliases, are `other`. */
export type Tree = MapTree | ListTree | TextTree | OtherTree;

export interface MapTree extends Span {
  readonly kind: "map";
  readonly isFlow: boolean;
  readonly entries: readonly Entry[];
}

interface ListTree extends Span {
  readonly kind: "list";
  readonly isFlow: boolean;
  readonly items: readonly (Tree | undefined)[];
}

export interface TextTree extends Span {
  readonly kind: "text";
  /** The parsed text; of a value that isn't a string, such as `8080`, the text as written. */
  readonly text: string;
  /** Whether YAML parses it as a string, and not as a number, a boolean or null. */
  readonly isText: boolean;
  readonly style: "plain" | "quoted" | "block";
}

interface OtherTree extends Span {
  readonly kind: "other";
}

export interface Entry {
  readonly name: TextTree;
  /** Undefined where the value is missing. */
  readonly value: Tree | undefined;
}

/**
 * Parses a YAML text as far as possible, however invalid it is. Never throws. Only for a text without a `problemOfSize`.
 * @returns undefined for an empty text.
 */
export function readTree(text: string): Tree | undefined {
  const document = parseDocument(text, {
    prettyErrors: false,
    uniqueKeys: false,
    stringKeys: true,
    logLevel: "silent",
  });
  return treeOf(document.contents, text, 0);
}

function treeOf(node: Node | null, text: string, depth: number): Tree | undefined {
  if (node === null) return undefined;
  const span = spanOf(node, text);
  if (depth > deepestNesting || isAlias(node)) return { kind: "other", ...span };
  if (isScalar(node)) {
    if (node.range?.[0] === node.range?.[1]) return undefined;
    return textOf(node.value, node.type, span, text);
  }
  if (isSeq<Node | null>(node)) {
    return {
      kind: "list",
      isFlow: node.flow === true,
      items: node.items.map((item) => treeOf(item, text, depth + 1)),
      ...span,
    };
  }
  if (!isMap<Node, Node | null>(node)) return { kind: "other", ...span };
  const entries = node.items.flatMap(({ key, value }): Entry[] => {
    if (!isScalar(key)) return [];
    const name = textOf(key.value, key.type, spanOf(key, text), text);
    return [{ name, value: treeOf(value, text, depth + 1) }];
  });
  return { kind: "map", isFlow: node.flow === true, entries, ...span };
}

function textOf(value: unknown, type: string | undefined, span: Span, text: string): TextTree {
  const style = type?.startsWith("QUOTE") ? "quoted" : type?.startsWith("BLOCK") ? "block" : "plain";
  const isText = typeof value === "string";
  return { kind: "text", text: isText ? value : text.slice(span.start, span.end), isText, style, ...span };
}

/** The node's range without trailing white space, which the library includes. */
function spanOf(node: Node, text: string): Span {
  const [start = 0, written = start] = node.range ?? [];
  return { start, end: start + text.slice(start, written).trimEnd().length };
}

export function entryOf(tree: Tree | undefined, name: string): Entry | undefined {
  return tree?.kind === "map" ? tree.entries.find((entry) => entry.name.text === name) : undefined;
}

export function textValueOf(tree: Tree | undefined, name: string): TextTree | undefined {
  const value = entryOf(tree, name)?.value;
  return value?.kind === "text" ? value : undefined;
}

export function entriesOf(tree: Tree | undefined): readonly Entry[] {
  return tree?.kind === "map" ? tree.entries : [];
}

export function spanOfEntry({ name, value }: Entry): Span {
  return { start: name.start, end: Math.max(name.end, value?.end ?? 0) };
}

/** Both ends are included, since a caret is between two characters. */
export function touches({ start, end }: Span, offset: number): boolean {
  return start <= offset && offset <= end;
}

/** One step on the path from the root to a part of the file. */
export type Crumb =
  | { readonly kind: "entry"; readonly map: MapTree; readonly entry: Entry }
  | { readonly kind: "item"; readonly list: ListTree; readonly index: number };

export function pathTo(crumbs: readonly Crumb[]): readonly (string | number)[] {
  return crumbs.map((crumb) => (crumb.kind === "item" ? crumb.index : crumb.entry.name.text));
}

/** A text of the file with its path, and whether it is a name or a value. */
export interface Spot {
  readonly crumbs: readonly Crumb[];
  readonly text: TextTree;
  readonly isName: boolean;
}

/** The text at an offset; undefined if there is none. */
export function spotAt(tree: Tree | undefined, offset: number): Spot | undefined {
  return tree === undefined ? undefined : seek(tree, offset, []);
}

function seek(tree: Tree, offset: number, crumbs: readonly Crumb[]): Spot | undefined {
  switch (tree.kind) {
    case "text":
      return touches(tree, offset) ? { crumbs, text: tree, isName: false } : undefined;
    case "list":
      for (const [index, item] of tree.items.entries()) {
        const found = item && seek(item, offset, [...crumbs, { kind: "item", list: tree, index }]);
        if (found !== undefined) return found;
      }
      return undefined;
    case "map":
      for (const entry of tree.entries) {
        const inside = [...crumbs, { kind: "entry", map: tree, entry } as const];
        if (touches(entry.name, offset)) return { crumbs: inside, text: entry.name, isName: true };
        const found = entry.value && seek(entry.value, offset, inside);
        if (found !== undefined) return found;
      }
      return undefined;
    case "other":
      return undefined;
    default:
      return tree satisfies never;
  }
}

export function startOfLine(text: string, offset: number): number {
  // With a negative position, `lastIndexOf` would still check the first character.
  return offset === 0 ? 0 : text.lastIndexOf("\n", offset - 1) + 1;
}

/** A name as YAML writes it: plain, or in quotes where YAML would parse it as something else. */
export function asYamlText(name: string): string {
  try {
    if (parse(name) === name) return name;
  } catch {
    // Not valid as plain YAML: quoted below.
  }
  return JSON.stringify(name);
}
