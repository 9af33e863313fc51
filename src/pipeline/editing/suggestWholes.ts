// biome-ignore-all lint/suspicious/noTemplateCurlyInString: snippets and the references that pipeline files are written with.
import { type ResourceTypeName, resourceTypeNames } from "../pipeline.ts";
import { templates } from "../templates.ts";
import { typeMeanings } from "../words/pipelineTexts.ts";
import type { Caret } from "./caret.ts";
import { asYamlText } from "./plainText.ts";
import { escapeSnippet, type Suggestion } from "./suggestion.ts";

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
    return [
      whole(
        caret,
        `step with ${name.text}`,
        type,
        typeMeanings[type],
        dash + lines.join(`\n${" ".repeat(column)}`),
      ),
    ];
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
    return whole(caret, `${type} resource`, undefined, typeMeanings[type], snippet);
  });
}

/** A whole file, where nothing stands yet. */
export function suggestFiles(caret: Caret): readonly Suggestion[] {
  return templates.map(({ id, meaning, text }) =>
    whole(caret, `pipeline: ${id}`, undefined, meaning, escapeSnippet(text).trimEnd()),
  );
}

function whole(
  caret: Caret,
  label: string,
  detail: string | undefined,
  documentation: string,
  snippet: string,
): Suggestion {
  return {
    kind: "whole",
    label,
    detail,
    documentation,
    snippet,
    replaces: caret.word,
    typedAs: undefined,
    goesOn: false,
  };
}
