import { type Position, type Reference, references } from "../expression/expression.ts";
import { parseExpression } from "../expression/parseExpression.ts";
import { hasExpression, splitText } from "../file/textPieces.ts";
import { scalarOffsets } from "../file/yamlSource.ts";
import type { Span } from "../mistakes/problem.ts";
import { type Place, placeOf } from "../textPlaces.ts";
import type { Outline, OutlinedStep } from "./outline.ts";
import { stepAt } from "./shape.ts";
import { type Crumb, pathTo, type TextTree, type Tree } from "./tree.ts";

/** What may be filled in at a position of the file, and the step that it is in. */
export function placeAt(
  crumbs: readonly Crumb[],
  outline: Outline,
): { readonly place: Place; readonly step: OutlinedStep | undefined } {
  const step = stepAt(crumbs, outline);
  return { place: placeOf(pathTo(crumbs), step), step };
}

export interface FoundExpression {
  readonly source: string;
  /** The range of the source, without the braces around it. */
  readonly span: Span;
  readonly step: OutlinedStep | undefined;
  /** Its uses of contexts, also of those that aren't allowed there; none if it can't be parsed. */
  readonly references: readonly Reference[];
  /** The range of a piece of the source in the file. */
  readonly spanOf: (piece: Position) => Span;
}

/** The expressions of a file, in its order, except those whose characters can't all be located in the file. */
export function expressionsOf(text: string, outline: Outline): readonly FoundExpression[] {
  return visit(outline.tree, []);

  function visit(tree: Tree | undefined, crumbs: readonly Crumb[]): readonly FoundExpression[] {
    switch (tree?.kind) {
      case "text":
        return inText(tree, crumbs, false);
      case "list":
        return tree.items.flatMap((item, index) =>
          visit(item, [...crumbs, { kind: "item", list: tree, index }]),
        );
      case "map":
        return tree.entries.flatMap((entry) => {
          const inside = [...crumbs, { kind: "entry", map: tree, entry } as const];
          return [...inText(entry.name, inside, true), ...visit(entry.value, inside)];
        });
      default:
        return [];
    }
  }

  function inText(tree: TextTree, crumbs: readonly Crumb[], isName: boolean): readonly FoundExpression[] {
    const { place, step } = placeAt(crumbs, outline);
    if (place.kind === "fixed" || !tree.isText) return [];
    const offsets = scalarOffsets(text.slice(tree.start, tree.end));
    return sourcesIn(tree.text, place, isName).flatMap(({ source, at }) => {
      const [start, last] = [offsets[at], offsets[at + source.length - 1]];
      if (start === undefined || last === undefined) return [];
      const offsetOf = (character: number) => tree.start + (offsets[at + character] ?? last + 1);
      const parsed = parseExpression(source, ["env", "inputs", "steps", "run", "each", "this"]);
      return {
        source,
        span: { start: tree.start + start, end: tree.start + last + 1 },
        step,
        references: parsed.kind === "valid" ? references(parsed.expression) : [],
        spanOf: (piece) => ({
          start: offsetOf(piece.at),
          end: offsetOf(piece.at + piece.length - 1) + 1,
        }),
      };
    });
  }
}

function sourcesIn(
  text: string,
  place: Place,
  isName: boolean,
): readonly { readonly source: string; readonly at: number }[] {
  if (place.kind === "expression" && !isName) return [{ source: text, at: 0 }];
  if (!hasExpression(text)) return [];
  const split = splitText(text);
  if (split.kind === "invalid") return [];
  return split.pieces.flatMap((piece) => {
    if (piece.kind === "words") return [];
    if (piece.kind === "source") return [piece];
    const end = text.indexOf("}}", piece.at);
    return [{ source: text.slice(piece.at, end), at: piece.at }];
  });
}
