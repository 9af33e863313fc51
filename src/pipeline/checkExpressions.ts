// biome-ignore-all lint/suspicious/noTemplateCurlyInString: braces as pipeline files write them.
import { type Expression, type Reference, references } from "./expression/expression.ts";
import type { ContextName } from "./expression/names.ts";
import { parseExpression, parseText } from "./expression/parseExpression.ts";
import { isMap } from "./file/checkShape.ts";
import type { ProblemList } from "./file/problemList.ts";
import { hasExpression } from "./file/textPieces.ts";
import type { Path } from "./file/yamlSource.ts";
import type { KnownNames, KnownStep } from "./knownNames.ts";
import { quoted, suggestion } from "./mistakes/problem.ts";
import { everyResultField, resultFields } from "./types/resultFields.ts";

/** What may stand in a text of the file. */
export type Place =
  | { readonly kind: "fixed" }
  /** The text is an expression itself. */
  | { readonly kind: "expression"; readonly contexts: readonly ContextName[] }
  | {
      readonly kind: "text";
      readonly contexts: readonly ContextName[];
      /** What to do with a context that isn't one of these, as the end of a sentence. */
      readonly instead?: string;
    };

const fixed: Place = { kind: "fixed" };
const outside = ["env", "inputs", "run"] as const;
const inside = ["env", "inputs", "steps", "run"] as const;

/** Checks every text of the file that has expressions, or must have none. */
export function checkExpressions(
  value: Readonly<Record<string, unknown>>,
  names: KnownNames,
  problems: ProblemList,
): void {
  const check = new Check(names, problems);
  for (const top of ["env-file", "inputs", "resources", "outputs"]) {
    check.texts(value[top], [top], (path) => placeOf(path));
  }
  for (const list of ["steps", "finally"]) {
    const entries = value[list];
    if (!Array.isArray(entries)) continue;
    for (const [index, entry] of entries.entries()) {
      const step = names.steps.find((known) => known.list === list && known.index === index);
      if (!isMap(entry) || step === undefined) continue;
      check.texts(entry, [list, index], (path) => placeOf(path, step), step);
    }
  }
}

/**
 * What may stand in the text at a path of the file.
 * @param step the step in which it is.
 */
export function placeOf(path: Path, step?: Pick<KnownStep, "type" | "isEach">): Place {
  const [top, , field] = path;
  switch (top) {
    case "inputs":
      return path.length === 2 || field === "default" ? { kind: "text", contexts: ["env", "run"] } : fixed;
    case "resources":
      return path.length === 3 && field === "type" ? fixed : { kind: "text", contexts: outside };
    case "outputs":
      return { kind: "text", contexts: inside };
    case "steps":
    case "finally":
      return step === undefined ? fixed : placeInStep(path.slice(2), step);
    default:
      return fixed;
  }
}

/** A problem in a text, and the character at which it begins. */
interface Found {
  readonly at: number;
  readonly problem: string;
}

class Check {
  readonly #names: KnownNames;
  readonly #problems: ProblemList;

  constructor(names: KnownNames, problems: ProblemList) {
    this.#names = names;
    this.#problems = problems;
  }

  /** @param step the step that the value belongs to; it can't read its own result, nor that of a later one. */
  texts(value: unknown, path: Path, placeOf: (path: Path) => Place, step?: KnownStep): void {
    if (typeof value === "string") this.#text(value, path, placeOf(path), step, false);
    else if (Array.isArray(value)) {
      for (const [index, item] of value.entries()) this.texts(item, [...path, index], placeOf, step);
    } else if (isMap(value)) {
      for (const [name, item] of Object.entries(value)) {
        const at = [...path, name];
        // Outside JSON, it would be dropped silently where names are arbitrary.
        if (name === "__proto__" && !path.includes("json"))
          this.#problems.add(at, "`__proto__` can't be a name");
        this.#text(name, at, placeOf(at), step, true);
        this.texts(item, at, placeOf, step);
      }
    }
  }

  #text(text: string, path: Path, place: Place, step: KnownStep | undefined, isName: boolean): void {
    // Neither programs nor HTTP accept it; in JSON it is escaped.
    if (!isName && text.includes("\0") && !path.includes("json"))
      this.#problems.add(path, "this holds a NUL character");
    const found =
      place.kind === "expression" && !isName
        ? this.#inExpression(text, place.contexts, step)
        : hasExpression(text)
          ? this.#inText(text, place, step)
          : [];
    for (const { at, problem } of found) {
      if (isName) this.#problems.addToName(path, problem);
      else if (at === 0) this.#problems.add(path, problem);
      else this.#problems.addIn(path, at, problem);
    }
  }

  #inExpression(
    text: string,
    contexts: readonly ContextName[],
    step: KnownStep | undefined,
  ): readonly Found[] {
    if (hasExpression(text)) {
      return [{ at: 0, problem: "this is an expression already: leave out the `${{` and the `}}`" }];
    }
    const parsed = parseExpression(text, contexts);
    return parsed.kind === "invalid" ? [parsed] : this.#inReferences(parsed.expression, 0, step);
  }

  #inText(text: string, place: Place, step: KnownStep | undefined): readonly Found[] {
    if (place.kind === "fixed") return [{ at: 0, problem: "nothing can be filled in here" }];
    // A scope is ours to write: see `marked`.
    const mark = text.search(/(?<!\$)\$\{\{@/);
    if (mark !== -1) return [{ at: mark, problem: "`@` can't stand here" }];
    const parsed = parseText(text, place.contexts);
    if (parsed.kind === "invalid") {
      const instead = place.kind === "text" ? place.instead : undefined;
      return [{ at: parsed.at, problem: problemOfText(parsed.problem, instead) }];
    }
    return parsed.pieces.flatMap((piece) =>
      piece.kind === "expression" ? this.#inReferences(piece.expression, piece.at, step) : [],
    );
  }

  #inReferences(expression: Expression, from: number, step: KnownStep | undefined): readonly Found[] {
    return references(expression).flatMap((reference) => {
      const found = this.#problemOf(reference, step);
      return found === undefined ? [] : [{ ...found, at: from + found.at }];
    });
  }

  #problemOf({ context, path, at, goesOn }: Reference, step: KnownStep | undefined): Found | undefined {
    const [first, ...rest] = path;
    const asked = first === undefined ? undefined : String(first.name);
    const unknown = (what: string, known: readonly string[], none: string) => ({
      at: first?.at ?? at,
      problem: `${what}${suggestion(asked ?? "", known) || (known.length === 0 ? none : `; there is ${known.map((name) => `\`${name}\``).join(", ")}`)}`,
    });
    switch (context) {
      case "env":
        return first === undefined && goesOn
          ? {
              at,
              problem:
                "a variable is named in the file, such as `env.SHOP_TOKEN`, so that its value can be masked",
            }
          : undefined;
      case "inputs": {
        const known = this.#names.inputs;
        if (asked === undefined || known.includes(asked)) return undefined;
        return unknown(`there is no input \`${quoted(asked)}\``, known, "; the file has no `inputs`");
      }
      case "run":
        if (asked === undefined || runFields.some((known) => known === asked)) return undefined;
        return unknown(`a run has no \`${quoted(asked)}\``, runFields, "");
      case "each":
        if (asked === undefined || eachFields.some((known) => known === asked)) return undefined;
        return unknown(`\`each\` has no \`${quoted(asked)}\``, eachFields, "");
      case "this":
        return step === undefined ? undefined : problemOfField(step, path, "this");
      case "steps": {
        if (asked === undefined) return undefined;
        const known = this.#names.steps.filter(({ id }) => id !== undefined);
        const found = known.find(({ id }) => id === asked);
        if (found === undefined) {
          const ids = known.flatMap(({ id }) => id ?? []);
          return unknown(`no step has the id \`${quoted(asked)}\``, ids, "; no step has an `id`");
        }
        if (step === found)
          return {
            at: first?.at ?? at,
            problem: `\`${asked}\` is this step, whose result is \`this\` in \`expect.that\``,
          };
        if (step !== undefined && found.order > step.order)
          return {
            at: first?.at ?? at,
            problem: `the step \`${asked}\` comes later, so it has no result yet`,
          };
        return problemOfResult(found, rest, `steps.${asked}`);
      }
      default:
        return context satisfies never;
    }
  }
}

export const runFields = ["id", "pipeline", "project", "started-at"];
export const eachFields = ["value", "index"];

type Names = Reference["path"];

/** A path in the result of a step that has run. */
function problemOfResult(step: KnownStep, path: Names, shown: string): Found | undefined {
  if (!step.isEach) return problemOfField(step, path, shown);
  const [first, ...rest] = path;
  if (first === undefined) return undefined;
  if (typeof first.name === "number") return problemOfField(step, rest, `${shown}[${first.name}]`);
  return {
    at: first.at,
    problem: `this step has \`each\`, so \`${shown}\` is a list: \`${shown}[0].${first.name}\`, or \`${shown}.*.${first.name}\` for all`,
  };
}

function problemOfField(
  { type, outputs }: KnownStep,
  [field, member]: Names,
  shown: string,
): Found | undefined {
  if (field === undefined) return undefined;
  const name = String(field.name);
  const own = type === undefined ? outputs : resultFields[type];
  // A part that can't be read, or a resource that isn't known.
  if (own === undefined) return undefined;
  const known = [...own, ...everyResultField];
  if (!known.includes(name)) {
    const near = suggestion(name, known);
    return {
      at: field.at,
      problem: `\`${shown}\` has no \`${quoted(name)}\`${near || `; it has ${known.map((one) => `\`${one}\``).join(", ")}`}`,
    };
  }
  if (type !== "http" || name !== "headers" || member === undefined) return undefined;
  const header = String(member.name);
  return header === header.toLowerCase()
    ? undefined
    : { at: member.at, problem: `the names of headers are in lower case: \`${header.toLowerCase()}\`` };
}

const byParam = "give it as a param, so that it can't change the statement";
const byVariable =
  'pass it by `env: { NAME: … }` and write `"$NAME"`, so that it can\'t become a part of the script; a list of a program and its arguments takes it too';

/** What may stand at a path within a step. */
function placeInStep(path: Path, { type, isEach }: Pick<KnownStep, "type" | "isEach">): Place {
  const [field, part, more] = path;
  const own: readonly ContextName[] = isEach ? [...inside, "each"] : inside;
  switch (field) {
    case undefined:
      return { kind: "text", contexts: own };
    case "name":
    case "use":
    case "mask":
    case "retry":
    case "on-failure":
      return fixed;
    case "if":
      return { kind: "expression", contexts: inside };
    case "each":
      return { kind: "text", contexts: inside };
    case "expect":
      if (part === "that") return { kind: "expression", contexts: [...own, "this"] };
      break;
    case "run":
      if (type === "cli" && part === undefined)
        return { kind: "text", contexts: ["env"], instead: byVariable };
      break;
    case "file":
      if (type === "sql") return fixed;
      break;
    case "query":
      if (type === "sql") return { kind: "text", contexts: ["env"], instead: byParam };
      break;
    case "statements":
      if (type === "sql" && (more === undefined || more === "query"))
        return { kind: "text", contexts: ["env"], instead: byParam };
  }
  return { kind: "text", contexts: own };
}

/** The problem of a text, with what its writer may have meant. */
function problemOfText(problem: string, instead: string | undefined): string {
  if (instead !== undefined && / can't be used here; env can$/.test(problem))
    return `${problem.replace(/; env can$/, "")}: ${instead}`;
  return /^there is no (?!.*did you mean)/.test(problem)
    ? `${problem}; write \`$\${{\` for \`\${{\` itself`
    : problem;
}
