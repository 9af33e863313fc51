import type * as z from "zod/mini";
import { noText, valueAt } from "../../contract/wire.ts";
import { replaceControlCharacters } from "../../text/controlCharacters.ts";
import {
  type ForeignWord,
  foreignType,
  foreignWord,
  nothingFilledIn,
  placeholderIn,
} from "../mistakes/foreignWords.ts";
import { nearestName, quoted, suggestion } from "../mistakes/problem.ts";
import { inQuotes } from "../mistakes/slip.ts";
import { namesInside } from "./fieldTexts.ts";
import type { ProblemList } from "./problemList.ts";
import { hasExpression } from "./textPieces.ts";
import type { Path } from "./yamlSource.ts";

/** A schema of a map in the file, and what such a map is called in messages. */
export interface Shape<T> {
  readonly schema: z.ZodMiniType<T> & {
    readonly def: { readonly shape: Readonly<Record<string, z.core.$ZodType>> };
  };
  /** With its article: `an http step`. */
  readonly noun: string;
  /** Explains a name that doesn't belong here. @returns undefined when there is nothing to add. */
  readonly foreign?: (name: string) => string | undefined;
}

/** Returns the value if it fits the schema; otherwise adds every problem to `problems`. */
export function checkShape<T>(
  shape: Shape<T>,
  value: unknown,
  path: Path,
  problems: ProblemList,
): T | undefined {
  const result = shape.schema.safeParse(value, { error: noText });
  if (result.success) return result.data;
  for (const issue of result.error.issues) {
    if (problems.full) break;
    report(shape, value, issue, path, problems);
  }
  return undefined;
}

/** What doesn't fit, where it is, and the names that a map could have there. */
interface Site {
  readonly value: unknown;
  readonly at: Path;
  readonly inside: readonly string[];
}

function report<T>(
  shape: Shape<T>,
  value: unknown,
  issue: z.core.$ZodIssue,
  path: Path,
  problems: ProblemList,
): void {
  const at = [...path, ...issue.path];
  const site = {
    value: valueAt(value, issue.path),
    at,
    inside: namesInside(shape.schema, issue.path),
  };
  const missing = missingName(value, issue);
  if (missing !== undefined) {
    const unknown = unknownIn(valueAt(value, issue.path.slice(0, -1)), shape, issue.path);
    // The misspelt name, or another tool's, is reported instead.
    if (nearestName(missing, unknown) !== undefined) return;
    if (unknown.some((name) => foreignWord(name, [missing]) !== undefined)) return;
    problems.add(at.slice(0, -1), `${nameOf(shape, issue.path.slice(0, -1))} needs \`${missing}\``);
    return;
  }
  switch (issue.code) {
    case "unrecognized_keys":
      for (const name of issue.keys) {
        if (problems.full) return;
        const word = foreignWord(name, site.inside);
        const map = site.value;
        const message = unknownName(shape, name, map, issue, word);
        const isSame = isMap(map) && map[name] === true && word !== undefined && !(word.field in map);
        problems.addToName([...at, name], message, isSame ? word.entry : undefined);
      }
      return;
    case "invalid_key":
      problems.addToName(at, issue.issues[0]?.message ?? "this name can't stand here");
      return;
    case "invalid_type": {
      const { expected, message } = issue;
      const each = expected === "array" && isMap(site.value) ? "; begin each of its items with `- `" : "";
      const wanted = message || `expected ${kinds[expected] ?? `a ${expected}`}`;
      addWanted(site, wanted + each, problems, expected === "string");
      return;
    }
    case "invalid_union": {
      // If a map fits exactly one option except for something in it, that is reported.
      const [ofMap, ...others] = issue.errors.filter((issues) =>
        issues.every(({ code, path: within }) => code === "unrecognized_keys" || within.length > 0),
      );
      if (!isMap(site.value) || ofMap === undefined || others.length > 0) {
        const mayBeText = issue.errors
          .flat()
          .some((inner) => inner.code === "invalid_type" && inner.expected === "string");
        addWanted(site, issue.message || "this is not valid here", problems, mayBeText);
        return;
      }
      for (const inner of ofMap)
        report(shape, value, { ...inner, path: [...issue.path, ...inner.path] }, path, problems);
      return;
    }
    case "too_small":
      problems.add(at, issue.origin === "array" ? "this list is empty" : tooSmall(issue));
      return;
    case "too_big":
      problems.add(at, `this is too large: at most ${issue.maximum}`);
      return;
    default:
      addWanted(site, issue.message || "this is not valid here", problems);
  }
}

/**
 * Adds a problem that says what is expected and, where it is known, what was meant.
 * @param mayBeText whether a text would fit: `run: false` is no command, and `run: "false"` is.
 */
function addWanted(
  { value, at }: Pick<Site, "value" | "at">,
  wanted: string,
  problems: ProblemList,
  mayBeText = false,
): void {
  const isExpression = wanted.includes("an expression");
  if (mayBeText && !isExpression && (typeof value === "number" || typeof value === "boolean")) {
    problems.addNotText(at, `${wanted}; put this ${typeof value} in quotes`);
    return;
  }
  const isType = at.at(-1) === "type" && typeof value === "string";
  const type = isType ? foreignType(value, wanted.split(/[ ,]+/)) : undefined;
  if (type !== undefined) {
    problems.add(at, wanted + hintOf(type, {}), type.how === undefined ? type.field : undefined);
    return;
  }
  const meant = meantValue(at.at(-1), value, wanted);
  const isOpen = typeof value === "string" && (hasExpression(value) || placeholderIn(value) !== undefined);
  if (isOpen) problems.add(at, `${wanted}; ${nothingFilledIn}`);
  else if (meant !== undefined) problems.add(at, `${wanted}; did you mean \`${meant}\`?`, meant);
  else if (Array.isArray(value) && wanted === aMap)
    problems.add(at, `${wanted}, not a list: \`name: value\` without dashes and brackets`);
  else if (typeof value === "number" && at.at(-1) === "expect")
    problems.add(
      at,
      `${wanted}, such as \`{ status: 204 }\` of a reply or \`{ exit-code: 3 }\` of a program`,
    );
  else problems.add(at, wanted);
}

const aMap = "expected a map of names and values";

const listsOfTexts: readonly unknown[] = ["mask", "unmasked", "tags", "options", "params"];

/** The value that was meant by a text, as YAML: of `tags: nightly`, `status: "204"`, `timeout: 5 sec`. */
function meantValue(field: unknown, text: unknown, wanted: string): string | undefined {
  if (typeof text !== "string" || text.length > 200 || replaceControlCharacters(text) !== text)
    return undefined;
  if (listsOfTexts.includes(field))
    return `[${/^(?!(?:true|false|null)$)[a-z/][\w./-]*$/i.test(text) ? text : inQuotes(text)}]`;
  if (wanted.startsWith("expected a length of time")) {
    const written =
      /^(\d{1,9}(?:\.\d{1,3})?) ?(?:(ms)|(s)(?:ec(?:ond)?s?)?|(m)(?:in(?:ute)?s?)?|(h)(?:ours?)?)$/i;
    const [, amount, ...units] = written.exec(text.trim()) ?? [];
    return amount && amount + units.join("").toLowerCase();
  }
  const isNumber = /^expected a (?:whole )?number\b/.test(wanted) && /^\d{1,9}(?:\.\d{1,3})?$/.test(text);
  return isNumber ? text : undefined;
}

/** The name of a required field that is missing; for a union, zod reports it as an invalid union. */
function missingName(value: unknown, issue: z.core.$ZodIssue): string | undefined {
  if (issue.code !== "invalid_type" && issue.code !== "invalid_union") return undefined;
  const name = issue.path.at(-1);
  return name === undefined || valueAt(value, issue.path) !== undefined ? undefined : String(name);
}

function unknownIn<T>(map: unknown, { schema }: Shape<T>, path: Path): readonly string[] {
  const known = namesInside(schema, path.slice(0, -1));
  return isMap(map) ? Object.keys(map).filter((name) => !known.includes(name)) : [];
}

function unknownName<T>(
  shape: Shape<T>,
  name: string,
  map: unknown,
  { path: inside, message }: z.core.$ZodIssue,
  word: ForeignWord | undefined,
): string {
  const parent = inside.at(-1);
  const more = parent === undefined && word === undefined ? shape.foreign?.(name) : undefined;
  if (more !== undefined) return more;
  const near = suggestion(name, namesInside(shape.schema, inside)) || (message && `; ${message}`);
  return `${nameOf(shape, inside)} has no \`${quoted(name)}\`${word === undefined ? near : hintOf(word, map)}`;
}

/** What a map within a shape is called in messages: an item of a list by the list's name. */
function nameOf<T>({ noun }: Shape<T>, inside: Path): string {
  const name = inside.findLast((part) => typeof part === "string");
  return name === undefined ? noun : `\`${name}\``;
}

function hintOf({ field, entry, how }: ForeignWord, map: unknown): string {
  if (how !== undefined) return `; ${how}`;
  // Renaming it would make a duplicate.
  if (entry === undefined && isMap(map) && field in map) return `; that is \`${field}\` here`;
  return entry === undefined ? `; did you mean \`${field}\`?` : `; write \`${entry}\``;
}

export function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function tooSmall(issue: z.core.$ZodIssueTooSmall): string {
  return issue.message === "" ? `this is too small: at least ${issue.minimum}` : issue.message;
}

/** What zod expects, in words. */
const kinds: Readonly<Record<string, string>> = {
  string: "text",
  object: "a map of names and values",
  record: "a map of names and values",
  array: "a list",
  boolean: "true or false",
  int: "a whole number",
};
