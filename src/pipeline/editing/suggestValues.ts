import { resourceTypeNames } from "../types/resourceTypeNames.ts";
import { resourceTypes } from "../types/resourceTypes.ts";
import type { Caret } from "./caret.ts";
import { fieldsOf } from "./members.ts";
import { fieldTextAt, isStepList, type Shape, stepAt } from "./shape.ts";
import { escapeSnippet, type Suggestion } from "./suggestion.ts";
import { asYamlText, pathTo } from "./tree.ts";

type ValueSpot = Extract<Caret["spot"], { kind: "value" }>;

/** The known values: allowed words, the file's resources, the project's files, and common values. */
export function suggestValues(
  caret: Caret,
  spot: ValueSpot,
  shape: Shape,
  files: readonly string[],
): readonly Suggestion[] {
  const { crumbs } = spot;
  const [top, at, field, within, ...more] = pathTo(crumbs);
  const isWhole = field !== undefined && within === undefined;
  const isInStep = isStepList(String(top)) && typeof at === "number" && more.length === 0;
  if (isInStep && isWhole && field === "include" && files.length > 0)
    return files.map((path) => value(caret, spot, asYamlText(path)));
  if (top === "resources" && typeof at === "string" && isWhole && field === "type") {
    return resourceTypeNames.map((type) => value(caret, spot, type, resourceTypes[type].meaning));
  }
  if (isInStep && isWhole && field === "use") {
    return caret.outline.resources.map(({ name, type }) => ({
      ...value(caret, spot, asYamlText(name.text), type && resourceTypes[type].meaning),
      kind: "resource",
      label: name.text,
      detail: type,
    }));
  }
  const step = stepAt(crumbs, caret.outline);
  if (isInStep && !isWhole && field === "mask" && step !== undefined)
    return fieldsOf(step, caret.outline, []).map(({ name, meaning }) => value(caret, spot, name, meaning));
  const words = new Set([...shape.words, ...(fieldTextAt(crumbs, caret.outline)?.values ?? [])]);
  return [...words].map((word) => value(caret, spot, word));
}

function value(
  caret: Caret,
  { style, isFlow }: ValueSpot,
  written: string,
  documentation?: string,
): Suggestion {
  const plain = written.replace(/^"(.*)"$/, "$1");
  const needsQuotes = isFlow && /[{}[\],]/.test(plain);
  const inserted = style === "quoted" ? plain : needsQuotes ? `"${plain}"` : written;
  return {
    kind: "value",
    label: plain,
    documentation,
    snippet: escapeSnippet(inserted),
    replaces: caret.word,
  };
}
