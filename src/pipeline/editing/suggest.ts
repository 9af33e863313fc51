import { type Caret, caretAt } from "./caret.ts";
import { shapeAt } from "./fileShape.ts";
import type { Shape } from "./shape.ts";
import { suggestFields } from "./suggestFields.ts";
import type { Suggestion } from "./suggestion.ts";
import { suggestValues } from "./suggestValues.ts";
import { suggestVariables } from "./suggestVariables.ts";
import { suggestFiles, suggestResources, suggestSteps } from "./suggestWholes.ts";
import type { Crumb } from "./treeParts.ts";

/** What can be typed at an offset of a pipeline file, whatever state it is in. Never throws. */
export function suggest(text: string, offset: number): readonly Suggestion[] {
  const caret = caretAt(text, offset);
  if (caret === undefined) return [];
  const variables = suggestVariables(text, offset, caret);
  return variables ?? suggestAt(caret);
}

function suggestAt(caret: Caret): readonly Suggestion[] {
  const { spot, outline } = caret;
  switch (spot.kind) {
    case "name": {
      const holder = shapeAt(spot.crumbs.slice(0, -1), outline);
      const fields = suggestFields(caret, holder, {
        others: spot.others,
        column: spot.column,
        isFlow: spot.isFlow,
        wrap: "",
      });
      if (isResources(spot.crumbs.slice(0, -1))) return suggestResources(caret);
      return spot.crumbs.length === 1 && spot.others.size === 0
        ? [...fields, ...suggestFiles(caret)]
        : fields;
    }
    case "value": {
      const shape = shapeAt(spot.crumbs, outline);
      // A text of several lines goes on here.
      if (caret.isBegunAbove || spot.style === "block") return [];
      const values = suggestValues(caret, spot, shape);
      return spot.style === "quoted" ? values : [...values, ...suggestInside(caret, spot, shape)];
    }
    case "dash": {
      const item = shapeAt(spot.crumbs, outline).item;
      return item === undefined ? [] : suggestItem(caret, spot.crumbs, item, spot.column, "- ");
    }
    case "nowhere":
      return [];
    default:
      return spot satisfies never;
  }
}

/** What can be begun where a map or a list is wanted and nothing stands yet. */
function suggestInside(
  caret: Caret,
  spot: Extract<Caret["spot"], { kind: "value" }>,
  shape: Shape,
): readonly Suggestion[] {
  const { crumbs, column, isFlow, isFresh } = spot;
  const last = crumbs.at(-1);
  if (last?.kind === "item") {
    if (isFlow) return suggestFields(caret, shape, { others: new Set(), column, isFlow: true, wrap: "{}" });
    return suggestItem(caret, crumbs.slice(0, -1), shape, column, "");
  }
  if (isFlow || !isFresh) {
    return suggestFields(caret, shape, { others: new Set(), column, isFlow: true, wrap: "{}" });
  }
  if (isResources(crumbs)) return suggestResources(caret);
  if (shape.item !== undefined) return suggestItem(caret, crumbs, shape.item, column, "- ");
  const fields = suggestFields(caret, shape, { others: new Set(), column, isFlow: false, wrap: "" });
  return crumbs.length === 0 ? [...fields, ...suggestFiles(caret)] : fields;
}

/** A new entry of a list; `dash` is written before it. `column` is where it begins, with the dash. */
function suggestItem(
  caret: Caret,
  list: readonly Crumb[],
  item: Shape,
  column: number,
  dash: "- " | "",
): readonly Suggestion[] {
  const at = { others: new Set<string>(), column: column + dash.length, isFlow: false, wrap: dash } as const;
  const fields = suggestFields(caret, item, at);
  const [only, other] = list;
  const isSteps = other === undefined && only?.kind === "entry" && only.entry.name.text === "steps";
  return isSteps ? [...suggestSteps(caret, column + dash.length, dash), ...fields] : fields;
}

function isResources([only, other]: readonly Crumb[]): boolean {
  return other === undefined && only?.kind === "entry" && only.entry.name.text === "resources";
}
