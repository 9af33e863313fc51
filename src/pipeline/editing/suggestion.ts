import type { Span } from "../mistakes/problem.ts";
import { resourceTypes } from "../types/resourceTypes.ts";
import { resourceTypeNames } from "../types/resultFields.ts";
import type { Caret } from "./caret.ts";
import { fieldsOf } from "./members.ts";
import { fieldTextAt, isStepList, type Shape, stepAt } from "./shape.ts";
import { templates } from "./templates.ts";
import { asYamlText, pathTo } from "./tree.ts";

/** Something to choose while typing. */
export interface Suggestion {
  readonly kind: "field" | "value" | "resource" | "variable" | "function" | "whole";
  readonly label: string;
  /** Shown beside the label. */
  readonly detail?: string | undefined;
  /** Markdown. */
  readonly documentation?: string | undefined;
  /** A snippet, with the line breaks and the indentation that it needs where it goes. */
  readonly snippet: string;
  readonly replaces: Span;
  /** What is matched with the typed text, if that isn't the label. */
  readonly typedAs?: string;
  /** Whether to suggest at once what comes next. */
  readonly goesOn?: boolean;
}

export function escapeSnippet(text: string): string {
  return text.replace(/[\\$}]/g, "\\$&");
}

/** A whole step for each resource of the file. */
export function suggestSteps(caret: Caret, column: number, dash: "- " | ""): readonly Suggestion[] {
  return caret.outline.resources.flatMap(({ name, type }) => {
    if (type === undefined) return [];
    const { meaning, snippets } = resourceTypes[type];
    const { step } = snippets;
    const lines = [`name: \${1:${step.name}}`, `use: ${escapeSnippet(asYamlText(name.text))}`, ...step.lines];
    const label = `step with ${name.text}`;
    const snippet = dash + lines.join(`\n${" ".repeat(column)}`);
    return [{ kind: "whole", label, detail: type, documentation: meaning, snippet, replaces: caret.word }];
  });
}

/** A whole resource of each type, under a name that is free. */
export function suggestResources(caret: Caret): readonly Suggestion[] {
  if (/^\s*:(?:\s|$)/.test(caret.rest)) return [];
  const taken = new Set(caret.outline.resources.map(({ name }) => name.text));
  return resourceTypeNames.map((type) => {
    const { meaning, snippets } = resourceTypes[type];
    const { name, fields } = snippets.resource;
    const free = [name, ...Array.from({ length: taken.size + 1 }, (_, index) => `${name}-${index + 2}`)];
    const own = free.find((candidate) => !taken.has(candidate)) ?? name;
    const inner = `type: ${type}${fields}`;
    const snippet = `\${1:${own}}: { ${inner} }`;
    return {
      kind: "whole",
      label: `${type} resource`,
      documentation: meaning,
      snippet,
      replaces: caret.word,
    };
  });
}

/** A whole file, for one that is empty. */
export function suggestFiles(caret: Caret): readonly Suggestion[] {
  return templates.map(({ id, meaning, text }) => ({
    kind: "whole",
    label: `pipeline: ${id}`,
    documentation: meaning,
    snippet: escapeSnippet(text).trimEnd(),
    replaces: caret.word,
  }));
}

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
    return fieldsOf(step, caret.outline, {}).map(({ name, meaning }) => value(caret, spot, name, meaning));
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
