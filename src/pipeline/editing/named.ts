import { idPattern } from "../file/values.ts";
import type { Edit, Span } from "../mistakes/problem.ts";
import { isName } from "../pipeline.ts";
import { expressionsOf } from "./expressionAt.ts";
import { type Outline, stepLists } from "./outline.ts";
import { asYamlText, spotAt, textValueOf, touches } from "./tree.ts";

/** All places where the file names one thing of its own: its definitions and its uses. */
export interface Named {
  readonly kind: "resource" | "id" | "input";
  readonly name: string;
  readonly definitions: readonly Span[];
  readonly uses: readonly Span[];
  /** The definition or use at the offset. */
  readonly asked: Span;
}

interface Mention extends Span {
  readonly kind: Named["kind"];
  readonly name: string;
  readonly isDefinition: boolean;
}

/** The resource, step or input that is named at an offset; undefined where none is. */
export function namedAt(text: string, outline: Outline, offset: number): Named | undefined {
  const all = mentionsOf(text, outline);
  const asked = all.find((mention) => touches(mention, offset));
  if (asked === undefined) return undefined;
  const same = all.filter(({ kind, name }) => kind === asked.kind && name === asked.name);
  return {
    kind: asked.kind,
    name: asked.name,
    definitions: same.filter(({ isDefinition }) => isDefinition),
    uses: same.filter(({ isDefinition }) => !isDefinition),
    asked,
  };
}

function mentionsOf(text: string, outline: Outline): readonly Mention[] {
  const { resources, steps, inputs } = outline;
  const defined = (kind: Named["kind"], { text: name, start, end }: Span & { readonly text: string }) => ({
    kind,
    name,
    start,
    end,
    isDefinition: true,
  });
  return [
    ...resources.map(({ name }) => defined("resource", name)),
    ...steps.flatMap(({ use }) =>
      use === undefined ? [] : { ...defined("resource", use), isDefinition: false },
    ),
    ...steps.flatMap(({ id }) => (id === undefined ? [] : defined("id", id))),
    ...inputs.map(({ name }) => defined("input", name)),
    ...expressionsOf(text, outline).flatMap(({ references, spanOf }) =>
      references.flatMap(({ context, path: [first] }): Mention[] => {
        const kind = context === "steps" ? "id" : context === "inputs" ? "input" : undefined;
        if (kind === undefined || first === undefined) return [];
        return [{ kind, name: String(first.name), ...spanOf(first), isDefinition: false }];
      }),
    ),
  ];
}

/** The problem of a new name, in a sentence; undefined for a valid one. */
export function problemOfNewName(
  { resources, steps, inputs }: Outline,
  { kind, name: old }: Pick<Named, "kind" | "name">,
  name: string,
): string | undefined {
  const taken = {
    resource: resources.map((resource) => resource.name.text),
    id: steps.map(({ id }) => id?.text),
    input: inputs.map((input) => input.name.text),
  }[kind];
  if (kind === "resource" && !isName(name))
    return "A resource's name begins with a letter or digit and goes on with letters, digits, “.”, “_” and “-”.";
  if (kind !== "resource" && !idPattern.test(name))
    return "This name begins with a letter or “_” and goes on with letters, digits, “_” and “-”.";
  if (name === old || !taken.includes(name)) return undefined;
  if (kind === "id") return `Another step has the id “${name}” already.`;
  return `This file has ${kind === "input" ? "an" : "a"} ${kind} “${name}” already.`;
}

export function renameAll({ kind, definitions, uses }: Named, name: string): readonly Edit[] {
  const edit = ({ start, end }: Span, text: string) => ({ span: { start, end }, text });
  return [
    ...definitions.map((span) => edit(span, asYamlText(name))),
    ...uses.map((span) => edit(span, kind === "resource" ? asYamlText(name) : name)),
  ];
}

/** The part whose path is at an offset, whose input is given there, or whose output is read there. */
export function partAt(
  text: string,
  outline: Outline,
  offset: number,
): { readonly path: string; readonly input?: string; readonly output?: string } | undefined {
  const spot = spotAt(outline.tree, offset);
  const [list, , field, name, deeper] = spot?.crumbs ?? [];
  if (list?.kind === "entry" && field?.kind === "entry" && spot !== undefined && deeper === undefined) {
    const include = stepLists.some((known) => known === list.entry.name.text)
      ? textValueOf(field.map, "include")
      : undefined;
    if (include !== undefined && field.entry.name.text === "include") return { path: include.text };
    if (include !== undefined && field.entry.name.text === "inputs" && name?.kind === "entry" && spot.isName)
      return { path: include.text, input: spot.text.text };
  }
  for (const { references, spanOf } of expressionsOf(text, outline)) {
    for (const {
      context,
      path: [id, output],
    } of references) {
      if (context !== "steps" || output === undefined || !touches(spanOf(output), offset)) continue;
      const path = outline.steps.find((step) => step.id?.text === id?.name)?.include?.text;
      return path === undefined ? undefined : { path, output: String(output.name) };
    }
  }
  return undefined;
}
