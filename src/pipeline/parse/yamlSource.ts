import {
  type Alias,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  type Node,
  type ParsedNode,
  parseDocument,
  type YAMLError,
} from "yaml";
import type { Place, Problem } from "./problem.ts";
import { quoted } from "./problem.ts";

export type Path = readonly PropertyKey[];

/** A parsed YAML text: plain data with the position of each part. */
export interface YamlSource {
  readonly kind: "valid";
  readonly value: unknown;
  /** The position of the value at a path, or of its name when the value is empty. */
  place(path: Path): Place;
  /** The position of the name of the entry at a path. */
  placeOfName(path: Path): Place;
  /** A number or boolean as it was written: `1.10` stays `1.10`. */
  written(path: Path): string | undefined;
}

type ReadYaml = YamlSource | { readonly kind: "invalid"; readonly problems: readonly Problem[] };

export const deepestNesting = 64;
/** Aliases are counted expanded, so that a few lines of aliases can't stand for gigabytes. */
const mostValues = 50_000;
const mostErrors = 100;

/** Parses one YAML document, or returns all its syntax problems. Never throws. */
export function readYaml(text: string): ReadYaml {
  const place = placesIn(text);
  const document = parseDocument(text, {
    prettyErrors: false,
    // The library's check is quadratic, which takes minutes for a hostile file.
    uniqueKeys: false,
    stringKeys: true,
    logLevel: "error",
  });
  const errors = [...document.errors, ...document.warnings].slice(0, mostErrors);
  if (errors.length > 0) {
    return {
      kind: "invalid",
      problems: errors.map((error) => ({ message: describeError(error), ...place(error.pos[0]) })),
    };
  }
  const converter = new Converter();
  const value = converter.convert(document.contents, 0);
  if (converter.complaints.length > 0) {
    return {
      kind: "invalid",
      problems: converter.complaints.map(({ message, offset }) => ({ message, ...place(offset) })),
    };
  }
  const find = (path: Path) => findNode(document.contents, path, converter.targets);
  return {
    kind: "valid",
    value,
    place: (path) => {
      const { name, node } = find(path);
      const empty = node === null || (isScalar(node) && node.range?.[0] === node.range?.[1]);
      return place(startOf(empty ? (name ?? node) : node));
    },
    placeOfName: (path) => {
      const { name, node } = find(path);
      return place(startOf(name ?? node));
    },
    written: (path) => {
      const { node } = find(path);
      return isScalar(node) ? node.source : undefined;
    },
  };
}

/** Finds line and column of an offset. The YAML library's own line counter is wrong for some invalid texts. */
function placesIn(text: string): (offset: number) => Place {
  const starts = [0];
  for (let end = text.indexOf("\n"); end !== -1; end = text.indexOf("\n", end + 1)) starts.push(end + 1);
  return (offset) => {
    const inside = Math.min(offset, text.length);
    const line = Math.max(
      0,
      starts.findLastIndex((start) => start <= inside),
    );
    return { line: line + 1, column: inside - (starts[line] ?? 0) + 1 };
  };
}

/** Converts YAML nodes to plain data, and reports what YAML allows but a pipeline file doesn't. */
class Converter {
  readonly complaints: { message: string; offset: number }[] = [];
  readonly targets = new Map<Alias, Node>();
  readonly #anchors = new Map<string, { node: Node; value: unknown; size: number }>();
  #size = 0;

  convert(node: ParsedNode | Node | null, depth: number): unknown {
    this.#size += 1;
    if (node === null) return null;
    if (depth > deepestNesting) {
      return this.#report(`this is nested more than ${deepestNesting} levels deep`, node);
    }
    if (this.#size > mostValues) {
      // Reported once: all values after it exceed the limit too.
      return this.#size - 1 === mostValues
        ? this.#report(`the file holds more than ${mostValues} values, its aliases written out`, node)
        : null;
    }
    if (isAlias(node)) return this.#resolve(node);
    const sizeBefore = this.#size;
    const value = this.#plain(node, depth);
    const anchor = "anchor" in node ? node.anchor : undefined;
    if (anchor !== undefined) this.#anchors.set(anchor, { node, value, size: this.#size - sizeBefore });
    return value;
  }

  #plain(node: Node, depth: number): unknown {
    if (isScalar(node)) {
      if (typeof node.value === "number" && !Number.isFinite(node.value)) {
        return this.#report("this is a number that a pipeline can't hold", node);
      }
      return node.value;
    }
    if (isSeq<ParsedNode>(node)) return node.items.map((item) => this.convert(item, depth + 1));
    if (!isMap<ParsedNode, ParsedNode | null>(node)) return this.#report("this can't be read", node);
    const entries = new Map<string, unknown>();
    for (const { key, value } of node.items) {
      const name = isScalar(key) ? String(key.value ?? "") : undefined;
      if (name === undefined) {
        this.#report("expected a plain name before the colon", key);
      } else if (entries.has(name)) {
        this.#report(`\`${quoted(name)}\` is here twice`, key);
      } else {
        entries.set(name, this.convert(value, depth + 1));
      }
    }
    return Object.fromEntries(entries);
  }

  #resolve(alias: Alias): unknown {
    const target = this.#anchors.get(alias.source);
    if (target === undefined) {
      return this.#report(`nothing before this is anchored as \`&${quoted(alias.source)}\``, alias);
    }
    this.targets.set(alias, target.node);
    const before = this.#size;
    this.#size += target.size;
    if (before <= mostValues && this.#size > mostValues) {
      this.#report(`the file holds more than ${mostValues} values, its aliases written out`, alias);
    }
    return target.value;
  }

  #report(message: string, node: Node | ParsedNode): null {
    if (this.complaints.length < mostErrors) this.complaints.push({ message, offset: startOf(node) });
    return null;
  }
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

function describeError(error: YAMLError): string {
  switch (error.code) {
    case "TAB_AS_INDENT":
      return "this line is indented with a tab; YAML is indented with spaces";
    case "MULTIPLE_DOCS":
      return "a pipeline file holds one YAML document, and here a second one begins";
    case "RESOURCE_EXHAUSTION":
      return "this is nested too deep to read";
    case "BAD_INDENT":
      return `this line's indentation doesn't fit the lines above (${quoted(error.message)})`;
    case "TAG_RESOLVE_FAILED":
      return "a pipeline file has no YAML tags (words that begin with `!`)";
    case "NON_STRING_KEY":
      return "expected a plain name before the colon";
    default:
      return `this is not valid YAML: ${quoted(error.message)}`;
  }
}
