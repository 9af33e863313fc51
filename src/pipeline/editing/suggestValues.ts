import type { FieldText } from "../file/fieldTexts.ts";
import { splitText } from "../file/textPieces.ts";
import { resourceTypeNames, resourceTypes } from "../types/resourceTypes.ts";
import type { Caret } from "./caret.ts";
import { isStepList, type Shape, shapeAt } from "./shape.ts";
import { escapeSnippet, type Suggestion } from "./suggestion.ts";
import { asYamlText, type Crumb, startOfLine } from "./tree.ts";

type ValueSpot = Extract<Caret["spot"], { kind: "value" }>;

/** The known values: allowed words, the file's resources, and common values. */
export function suggestValues(caret: Caret, spot: ValueSpot, shape: Shape): readonly Suggestion[] {
  const { crumbs } = spot;
  if (isTypeOfResource(crumbs)) {
    return resourceTypeNames.map((type) => value(caret, spot, type, resourceTypes[type].meaning));
  }
  if (isUse(crumbs)) {
    return caret.outline.resources.map(({ name, type }) => ({
      ...value(caret, spot, asYamlText(name.text), type && resourceTypes[type].meaning),
      kind: "resource",
      label: name.text,
      detail: type,
    }));
  }
  const words = new Set([...shape.words, ...(textOf(crumbs, caret)?.values ?? [])]);
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

/** The description of the value's field. */
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
  return (
    other === undefined &&
    top?.kind === "entry" &&
    isStepList(top.entry.name.text) &&
    step?.kind === "item" &&
    isEntry(field, "use")
  );
}

function isEntry(crumb: Crumb | undefined, name: string): boolean {
  return crumb?.kind === "entry" && crumb.entry.name.text === name;
}

/** An unfinished reference before the caret. */
const unfinishedReference = /\$(?:\{(?:\{\s*(?:e(?:n(?:v(?:\.[A-Za-z0-9_]*)?)?)?)?)?)?$/;

/**
 * The environment variables that the file refers to, inside an unfinished reference; never their values.
 * @returns undefined elsewhere.
 */
export function suggestVariables(
  text: string,
  offset: number,
  caret: Caret,
): readonly Suggestion[] | undefined {
  const { spot } = caret;
  if (spot.kind !== "value" || isFixed(spot.crumbs)) return undefined;
  const lineStart = startOfLine(text, offset);
  const typed = unfinishedReference.exec(text.slice(lineStart, offset))?.[0];
  if (typed === undefined) return undefined;
  const start = offset - typed.length;
  const isBare = spot.style === "plain" && spot.isFlow;
  // In a flow map, a plain text ends at a bracket, and quotes can only be added around a whole value.
  if (isBare && start !== caret.word.start) return [];
  const behind = /^[A-Za-z0-9_]*\s*\}{0,2}/.exec(text.slice(offset).split("\n", 1)[0] ?? "")?.[0] ?? "";
  const replaces = { start, end: offset + behind.length };
  const written = (name: string) => {
    const reference = `\\\${{ env.${name} \\}\\}`;
    return isBare ? `"${reference}"` : reference;
  };
  const prefix = typed.replace(/\.[A-Za-z0-9_]*$/, ".");
  const known = [...variablesOf(text)].sort().map(
    (name): Suggestion => ({
      kind: "variable",
      label: `\${{ env.${name} }}`,
      documentation: `The variable \`${name}\` of the file's \`env-file\`, or of the environment in which the run is started. Its value never shows: it is masked.`,
      snippet: written(escapeSnippet(name)),
      replaces,
      typedAs: prefix + name,
    }),
  );
  const another: Suggestion = {
    kind: "variable",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the reference that pipeline files are written with.
    label: "${{ env.… }}",
    documentation:
      "A variable of the file's `env-file`, or of the environment in which the run is started. Its value never shows: it is masked.",
    snippet: written("$" + "{1:NAME}"),
    replaces,
    typedAs: typed,
  };
  return [...known, another];
}

/** Every environment variable that the file refers to. */
function variablesOf(text: string): ReadonlySet<string> {
  const names = text.split("\n").flatMap((line) => {
    const split = splitText(line);
    if (split.kind === "valid")
      return split.pieces.flatMap((piece) => (piece.kind === "variable" ? [piece.name] : []));
    return [...line.matchAll(/\$\{\{\s*env\.([A-Za-z_][A-Za-z0-9_]*)\s*\}\}/g)].map(([, name = ""]) => name);
  });
  return new Set(names);
}

/** Whether a value takes no references: it is needed before the run or displayed (parser: `isFixed`). */
function isFixed(crumbs: readonly Crumb[]): boolean {
  const [top, , field] = crumbs;
  if (top?.kind !== "entry" || !["resources", "steps"].includes(top.entry.name.text)) return true;
  if (crumbs.length !== 3 || field?.kind !== "entry") return false;
  return (top.entry.name.text === "steps" ? ["name", "use"] : ["type"]).includes(field.entry.name.text);
}
