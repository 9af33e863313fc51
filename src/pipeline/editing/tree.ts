import { isAlias, isMap, isScalar, isSeq, type Node, parseDocument } from "yaml";
import { deepestNesting } from "../yamlSource.ts";

/** A piece of a text, in UTF-16 units from its beginning; `end` is behind its last one. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** A part of a pipeline file and where it stands. What can't be told, as the inside of an alias, is `other`. */
export type Tree = MapTree | ListTree | TextTree | OtherTree;

export interface MapTree extends Span {
  readonly kind: "map";
  readonly isFlow: boolean;
  readonly entries: readonly Entry[];
}

export interface ListTree extends Span {
  readonly kind: "list";
  readonly isFlow: boolean;
  readonly items: readonly (Tree | undefined)[];
}

export interface TextTree extends Span {
  readonly kind: "text";
  /** As it is read; what is no text of YAML's, such as `8080`, as it is written. */
  readonly text: string;
  /** Whether YAML reads it as text, and not as a number, a truth value or nothing. */
  readonly isText: boolean;
  readonly style: "plain" | "quoted" | "block";
}

interface OtherTree extends Span {
  readonly kind: "other";
}

/** A name of a map with what stands behind it. */
export interface Entry {
  readonly name: TextTree;
  /** Undefined where nothing stands behind the name. */
  readonly value: Tree | undefined;
}

/**
 * Reads a YAML text, however broken it is, as far as its parts can be told. Never throws.
 * The text has to be one that the parser reads, too: at most `largestFile` long.
 * @returns undefined for a text that holds nothing.
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

/** Without the white space and line breaks that the library counts to what stands before them. */
function spanOf(node: Node, text: string): Span {
  const [start = 0, written = start] = node.range ?? [];
  return { start, end: start + text.slice(start, written).trimEnd().length };
}
