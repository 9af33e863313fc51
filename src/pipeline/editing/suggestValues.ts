import { type ResourceTypeName, resourceTypeNames } from "../pipeline.ts";
import type { FieldText } from "../words/fieldText.ts";
import { typeMeanings } from "../words/pipelineTexts.ts";
import type { Caret } from "./caret.ts";
import { shapeAt } from "./fileShape.ts";
import { asYamlText } from "./plainText.ts";
import type { Shape } from "./shape.ts";
import { escapeSnippet, type Suggestion } from "./suggestion.ts";
import type { Crumb } from "./treeParts.ts";

type ValueSpot = Extract<Caret["spot"], { kind: "value" }>;

/** The values that can be told of: words that there are, a file's own resources, and what is usual. */
export function suggestValues(caret: Caret, spot: ValueSpot, shape: Shape): readonly Suggestion[] {
  const { crumbs } = spot;
  if (isTypeOfResource(crumbs)) {
    return resourceTypeNames.map((type) => value(caret, spot, type, { documentation: typeMeanings[type] }));
  }
  if (isUse(crumbs)) {
    return caret.outline.resources.map(({ name, type }) => ({
      ...value(caret, spot, asYamlText(name.text), { documentation: describeType(type) }),
      kind: "resource",
      label: name.text,
      detail: type,
    }));
  }
  const words = new Set([...shape.words, ...(textOf(crumbs, caret)?.values ?? [])]);
  return [...words].map((word) => value(caret, spot, word, {}));
}

function value(
  caret: Caret,
  { style, isFlow }: ValueSpot,
  written: string,
  { documentation }: { readonly documentation?: string | undefined },
): Suggestion {
  const plain = written.replace(/^"(.*)"$/, "$1");
  const needsQuotes = isFlow && /[{}[\],]/.test(plain);
  const inserted = style === "quoted" ? plain : needsQuotes ? `"${plain}"` : written;
  return {
    kind: "value",
    label: plain,
    detail: undefined,
    documentation,
    snippet: escapeSnippet(inserted),
    replaces: caret.word,
    typedAs: undefined,
    goesOn: false,
  };
}

function describeType(type: ResourceTypeName | undefined): string | undefined {
  return type === undefined ? undefined : typeMeanings[type];
}

/** What is said of the field that a value stands behind. */
function textOf(crumbs: readonly Crumb[], { outline }: Caret): FieldText | undefined {
  const last = crumbs.at(-1);
  if (last?.kind !== "entry") return undefined;
  return shapeAt(crumbs.slice(0, -1), outline).fields.get(last.entry.name.text)?.text;
}

function isTypeOfResource([top, resource, field, other]: readonly Crumb[]): boolean {
  return (
    other === undefined && isEntry(top, "resources") && resource?.kind === "entry" && isEntry(field, "type")
  );
}

function isUse([top, step, field, other]: readonly Crumb[]): boolean {
  return other === undefined && isEntry(top, "steps") && step?.kind === "item" && isEntry(field, "use");
}

function isEntry(crumb: Crumb | undefined, name: string): boolean {
  return crumb?.kind === "entry" && crumb.entry.name.text === name;
}
