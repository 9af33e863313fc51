import { resourceTypeNames, resourceTypes } from "../types/resourceTypes.ts";
import type { Caret } from "./caret.ts";
import { fieldsOf } from "./members.ts";
import { fieldTextAt, isStepList, type Shape, stepAt } from "./shape.ts";
import { escapeSnippet, type Suggestion } from "./suggestion.ts";
import { asYamlText, type Crumb } from "./tree.ts";

type ValueSpot = Extract<Caret["spot"], { kind: "value" }>;

/** The known values: allowed words, the file's resources, the project's files, and common values. */
export function suggestValues(
  caret: Caret,
  spot: ValueSpot,
  shape: Shape,
  files: readonly string[],
): readonly Suggestion[] {
  const { crumbs } = spot;
  if (isStepField(crumbs, "include") && files.length > 0)
    return files.map((path) => value(caret, spot, asYamlText(path)));
  if (isTypeOfResource(crumbs)) {
    return resourceTypeNames.map((type) => value(caret, spot, type, resourceTypes[type].meaning));
  }
  if (isStepField(crumbs, "use")) {
    return caret.outline.resources.map(({ name, type }) => ({
      ...value(caret, spot, asYamlText(name.text), type && resourceTypes[type].meaning),
      kind: "resource",
      label: name.text,
      detail: type,
    }));
  }
  const step = stepAt(crumbs, caret.outline);
  if (crumbs.length === 4 && isStepField(crumbs.slice(0, 3), "mask") && step !== undefined)
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

function isTypeOfResource([top, resource, field, other]: readonly Crumb[]): boolean {
  return (
    other === undefined && isEntry(top, "resources") && resource?.kind === "entry" && isEntry(field, "type")
  );
}

function isStepField([top, step, field, other]: readonly Crumb[], name: string): boolean {
  const isStep = top?.kind === "entry" && isStepList(top.entry.name.text) && step?.kind === "item";
  return other === undefined && isStep && isEntry(field, name);
}

function isEntry(crumb: Crumb | undefined, name: string): boolean {
  return crumb?.kind === "entry" && crumb.entry.name.text === name;
}
