// biome-ignore-all lint/suspicious/noTemplateCurlyInString: snippets and the references that pipeline files are written with.
import { type ResourceTypeName, resourceTypeNames } from "../pipeline.ts";
import { typeMeanings } from "../schema/pipelineTexts.ts";
import type { Caret } from "./caret.ts";
import { templates } from "./templates.ts";
import { asYamlText, type Span } from "./tree.ts";

/** Something to choose while typing. */
export interface Suggestion {
  readonly kind: "field" | "value" | "resource" | "variable" | "whole";
  readonly label: string;
  /** Shown beside the label. */
  readonly detail?: string | undefined;
  /** Markdown. */
  readonly documentation?: string | undefined;
  /** A snippet, with the line breaks and the indentation that it needs where it goes. */
  readonly snippet: string;
  readonly replaces: Span;
  /** What is compared with what was typed, where that isn't the label. */
  readonly typedAs?: string;
  /** Whether what comes next is to be suggested at once. */
  readonly goesOn?: boolean;
}

/** A text as a snippet writes it. */
export function escapeSnippet(text: string): string {
  return text.replace(/[\\$}]/g, "\\$&");
}

/** What a step of a type is made of, behind its `name` and `use`. */
const stepLines: Readonly<
  Record<ResourceTypeName, { readonly name: string; readonly lines: readonly string[] }>
> = {
  http: { name: "it answers", lines: ["get: ${2:/}", "expect: { status: ${3:200} }"] },
  sql: { name: "one row", lines: ["query: ${2:select 1 as n}", "expect: { rows: [{ ${3:n: 1} }] }"] },
  browser: { name: "the front page", lines: ["goto: ${2:/}", "expect: { text: ${3:Welcome} }"] },
  cli: { name: "unit tests", lines: ["run: ${2:npm test}"] },
};

const resourceFields: Readonly<Record<ResourceTypeName, { readonly name: string; readonly fields: string }>> =
  {
    http: { name: "shop", fields: ', base-url: "${2:http://127.0.0.1:8080}"' },
    sql: { name: "orders", fields: ', url: "${2:sqlite::memory:}"' },
    browser: { name: "chrome", fields: ', base-url: "${2:http://127.0.0.1:8080}"' },
    cli: { name: "shell", fields: "" },
  };

/** A whole step for each resource of the file. */
export function suggestSteps(caret: Caret, column: number, dash: "- " | ""): readonly Suggestion[] {
  return caret.outline.resources.flatMap(({ name, type }) => {
    if (type === undefined) return [];
    const step = stepLines[type];
    const lines = [`name: \${1:${step.name}}`, `use: ${escapeSnippet(asYamlText(name.text))}`, ...step.lines];
    const label = `step with ${name.text}`;
    const snippet = dash + lines.join(`\n${" ".repeat(column)}`);
    const documentation = typeMeanings[type];
    return [{ kind: "whole", label, detail: type, documentation, snippet, replaces: caret.word }];
  });
}

/** A whole resource of each type, under a name of one's own. */
export function suggestResources(caret: Caret): readonly Suggestion[] {
  if (/^\s*:(?:\s|$)/.test(caret.rest)) return [];
  const taken = new Set(caret.outline.resources.map(({ name }) => name.text));
  return resourceTypeNames.map((type) => {
    const { name, fields } = resourceFields[type];
    const free = [name, ...Array.from({ length: taken.size + 1 }, (_, index) => `${name}-${index + 2}`)];
    const own = free.find((candidate) => !taken.has(candidate)) ?? name;
    const inner = `type: ${type}${fields}`;
    const snippet = `\${1:${own}}: { ${inner} }`;
    const [label, documentation] = [`${type} resource`, typeMeanings[type]];
    return { kind: "whole", label, documentation, snippet, replaces: caret.word };
  });
}

/** A whole file, where nothing stands yet. */
export function suggestFiles(caret: Caret): readonly Suggestion[] {
  return templates.map(({ id, meaning, text }) => ({
    kind: "whole",
    label: `pipeline: ${id}`,
    documentation: meaning,
    snippet: escapeSnippet(text).trimEnd(),
    replaces: caret.word,
  }));
}
