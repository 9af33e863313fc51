import { type Alias, isAlias, isMap, isScalar, isSeq, type Node, type ParsedNode, Scalar } from "yaml";
import { quoted } from "../mistakes/problem.ts";
import { mostProblems } from "../mistakes/repairs.ts";
import type { Slip } from "../mistakes/slip.ts";
import { callSlip, hasNoBreak, noBreakSlip, quoteSlip, tornSlip } from "../mistakes/valueSlips.ts";

export const deepestNesting = 64;
/** Aliases are counted expanded, so that a few lines of aliases can't stand for gigabytes; a long text as several. */
const mostValues = 50_000;
const charactersOfAValue = 256;

/** How many values a text counts as, besides itself. */
function valuesOf(text: unknown): number {
  return typeof text === "string" ? Math.floor(text.length / charactersOfAValue) : 0;
}

/** Converts YAML nodes to plain data, and reports what YAML allows but a pipeline file doesn't. */
export class Converter {
  readonly complaints: Slip[] = [];
  /** Whether a limit is exceeded, so that the data isn't whole. */
  isTooLarge = false;
  readonly targets = new Map<Alias, Node>();
  readonly #anchors = new Map<string, { node: Node; value: unknown; size: number }>();
  readonly #text: string;
  #size = 0;

  constructor(text: string) {
    this.#text = text;
  }

  convert(node: ParsedNode | Node | null, depth: number): unknown {
    this.#size += 1;
    if (node === null) return null;
    const sizeBefore = this.#size;
    if (this.#isBeyond(valuesOf(isScalar(node) && node.value), node)) return null;
    if (depth > deepestNesting) {
      this.isTooLarge = true;
      return this.#report(`this is nested more than ${deepestNesting} levels deep`, node);
    }
    if (isAlias(node)) return this.#resolve(node);
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
      const [start = 0, end = start] = node.range ?? [];
      // A comma has cut off a call.
      if (node.type === Scalar.PLAIN && /\([^)]*$/.test(this.#text.slice(start, end)))
        this.#add(() => callSlip(this.#text, start));
      if (node.type === Scalar.PLAIN && node.comment) this.#add(() => tornSlip(this.#text, start, end));
      return node.value;
    }
    if (isSeq<ParsedNode>(node)) return node.items.map((item) => this.convert(item, depth + 1));
    if (!isMap<ParsedNode, ParsedNode | null>(node)) return this.#report("this can't be read", node);
    const entries = new Map<string, unknown>();
    for (const { key, value } of node.items) {
      const name = isScalar(key) ? String(key.value ?? "") : undefined;
      this.#size += valuesOf(name);
      if (name === undefined) {
        this.#report("expected a plain name before the colon", key);
      } else if (hasNoBreak(name)) {
        this.#add(() => noBreakSlip(name, startOf(key)));
      } else if (entries.has(name)) {
        this.#report(`\`${quoted(name)}\` is here twice`, key);
      } else if (name === "<<" && isAlias(value)) {
        this.#report("a pipeline file has no merge keys (`<<`); an alias can stand for a whole value", key);
      } else entries.set(name, this.convert(value, depth + 1));
    }
    return Object.fromEntries(entries);
  }

  #resolve(alias: Alias): unknown {
    const target = this.#anchors.get(alias.source);
    if (target === undefined && !/^[\w-]+$/.test(alias.source)) {
      const [start = 0, end = start] = alias.range ?? [];
      this.#add(() => quoteSlip(this.#text, { start, end }));
      return null;
    }
    if (target === undefined) {
      return this.#report(`nothing before this is anchored as \`&${quoted(alias.source)}\``, alias);
    }
    this.targets.set(alias, target.node);
    this.#isBeyond(target.size, alias);
    return target.value;
  }

  /** Adds to the number of values. @returns whether it is more than a file may hold, which is reported once. */
  #isBeyond(size: number, node: Node | ParsedNode): boolean {
    this.#size += size;
    if (this.#size <= mostValues) return false;
    const message = `the file holds more than ${mostValues} values, its aliases written out and long texts counted as several`;
    if (!this.isTooLarge) this.#report(message, node);
    this.isTooLarge = true;
    return true;
  }

  #report(message: string, node: Node | ParsedNode): null {
    this.#add(() => ({ message, start: startOf(node), end: startOf(node) }));
    return null;
  }

  /** Searches for a slip only while slips are still reported, since a hostile file has thousands. */
  #add(find: () => Slip | undefined): void {
    const slip = this.complaints.length < mostProblems ? find() : undefined;
    if (slip !== undefined) this.complaints.push(slip);
  }
}

function startOf(node: Node | null): number {
  return node?.range?.[0] ?? 0;
}
