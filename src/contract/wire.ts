import type * as z from "zod/mini";

/** The result of parsing a foreign value; a problem is one sentence that names the wrong field. */
export type Parsed<T> =
  | { readonly kind: "valid"; readonly value: T }
  | { readonly kind: "invalid"; readonly problem: string };

/**
 * Reads a JSON value with kebab-case names as the camelCase type of `schema`. Unknown fields are dropped, so that a service can
 * add some.
 */
export function fromWire<T>(schema: z.ZodMiniType<T>, body: unknown): Parsed<T> {
  const renamed = renameKeys(body, camelCase);
  // Compiling a schema pays off only after many uses.
  const result = schema.safeParse(renamed, { jitless: true, error: noText });
  if (result.success) return { kind: "valid", value: result.data };
  // Only zod's own bound of integers has a note. Skipped: the field's narrower bound says more.
  const { issues } = result.error;
  const issue = issues.find((one) => !("note" in one)) ?? issues[0];
  return {
    kind: "invalid",
    problem: issue === undefined ? "the value is not valid" : describeIssue(issue, renamed),
  };
}

/** Parses a JSON text like {@link fromWire}. @returns undefined if it is invalid. */
export function readJson<T>(schema: z.ZodMiniType<T>, text: string): T | undefined {
  try {
    const read = fromWire(schema, JSON.parse(text));
    return read.kind === "valid" ? read.value : undefined;
  } catch {
    return undefined;
  }
}

/** The same value with kebab-case names. */
export function toWire(value: unknown): unknown {
  return renameKeys(value, kebabCase);
}

/** One sentence for an issue, with the field's name on the wire. */
function describeIssue(issue: z.core.$ZodIssue, body: unknown): string {
  const named = issue.path.findIndex((part) => hasUserChosenNames(String(part)));
  const field = issue.path
    .map((part, index) => (named === -1 || index <= named ? kebabCase(String(part)) : String(part)))
    .join(".");
  const where = field === "" ? "the body" : `\`${field}\``;
  switch (issue.code) {
    case "invalid_type":
      return valueAt(body, issue.path) === undefined && field !== ""
        ? `${where} is missing (expected ${article(issue.expected)})`
        : `${where} should be ${article(issue.expected)}`;
    case "unrecognized_keys":
      return `${where} may not have \`${issue.keys.map(kebabCase).join("`, `")}\``;
    case "too_small":
      return issue.origin === "string"
        ? `${where} is too short: at least ${characters(issue.minimum)}`
        : `${where} is too small: ${issue.inclusive === false ? "more than" : "at least"} ${issue.minimum}`;
    case "too_big":
      return issue.origin === "string"
        ? `${where} is too long: at most ${characters(issue.maximum)}`
        : `${where} is too large: ${issue.inclusive === false ? "less than" : "at most"} ${issue.maximum}`;
    case "invalid_value":
      if (issue.message !== "") return `${where}: ${issue.message}`;
      return issue.values.length === 1
        ? `${where} is not valid`
        : `${where} should be one of ${issue.values.map((value) => `\`${String(value)}\``).join(", ")}`;
    case "invalid_key":
      return `${where}: ${issue.issues[0]?.message || "this can't be its name"}`;
    default:
      return issue.message === "" ? `${where} is not valid` : `${where}: ${issue.message}`;
  }
}

/** Drops zod's own messages, whose locale any copy of zod in the process can change. */
export const noText = () => "";

export function valueAt(body: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (value, part) =>
      typeof value === "object" && value !== null && Object.hasOwn(value, part)
        ? Reflect.get(value, part)
        : undefined,
    body,
  );
}

/** Says "a whole number" for every number: the contract has only integers. */
function article(expected: string): string {
  if (expected === "int" || expected === "number") return "a whole number";
  if (expected === "record") return "an object";
  return /^[aeiou]/.test(expected) ? `an ${expected}` : `a ${expected}`;
}

function characters(count: number | bigint): string {
  return count === 1 ? "1 character" : `${count} characters`;
}

/** Deeper than any value of the contract, yet far within the stack. */
export const deepestJson = 64;

/** Leaves deeper levels unchanged, so that no reply exhausts the stack. */
function renameKeys(value: unknown, rename: (key: string) => string, depth = 0): unknown {
  if (typeof value !== "object" || value === null || depth > deepestJson) return value;
  if (Array.isArray(value)) return value.map((item) => renameKeys(item, rename, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      rename(key),
      hasUserChosenNames(key) ? item : renameKeys(item, rename, depth + 1),
    ]),
  );
}

/** Whether a field maps names that a person chose, which must not be renamed. */
export function hasUserChosenNames(field: string): boolean {
  return ["inputs", "outputs", "parts", "texts", "diffs"].includes(field);
}

/** Marks a name with a capital letter, which the wire never has, so that no schema matches it and messages keep its spelling. */
const foreign = "\u0000";

function camelCase(key: string): string {
  if (/[A-Z]/.test(key)) return `${foreign}${key}`;
  return key.replace(/-([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

/** A field's name on the wire. */
export function kebabCase(key: string): string {
  if (key.startsWith(foreign)) return key.slice(foreign.length);
  if (!/[A-Z]/.test(key)) return key;
  return key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
