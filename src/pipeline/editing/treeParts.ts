import type { Entry, ListTree, MapTree, Span, TextTree, Tree } from "./tree.ts";

/** The entry of a map by its name; undefined where there is none, or no map. */
export function entryOf(tree: Tree | undefined, name: string): Entry | undefined {
  return tree?.kind === "map" ? tree.entries.find((entry) => entry.name.text === name) : undefined;
}

/** The text behind a name of a map; undefined where there is none. */
export function textBehind(tree: Tree | undefined, name: string): TextTree | undefined {
  const value = entryOf(tree, name)?.value;
  return value?.kind === "text" ? value : undefined;
}

export function entriesOf(tree: Tree | undefined): readonly Entry[] {
  return tree?.kind === "map" ? tree.entries : [];
}

/** From the first letter of a name to the last of what stands behind it. */
export function spanOfEntry({ name, value }: Entry): Span {
  return { start: name.start, end: Math.max(name.end, value?.end ?? 0) };
}

/** Both ends belong to a span, as a cursor stands between two letters. */
export function touches({ start, end }: Span, offset: number): boolean {
  return start <= offset && offset <= end;
}

/** One step from the root of a file to a part of it. */
export type Crumb =
  | { readonly kind: "entry"; readonly map: MapTree; readonly entry: Entry }
  | { readonly kind: "item"; readonly list: ListTree; readonly index: number };

/** Where a text of the file stands: whether it is a name or what stands behind one, and in what. */
export interface Spot {
  readonly crumbs: readonly Crumb[];
  readonly text: TextTree;
  readonly isName: boolean;
}

/** The text at an offset; undefined where there is none. */
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
