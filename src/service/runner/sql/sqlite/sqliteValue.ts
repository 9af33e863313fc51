/** A column's value as JSON has it: what no number of JSON holds exactly becomes text, and a blob `\x` and its hex digits. */
export function sqliteToJson(value: unknown): unknown {
  if (typeof value === "bigint") {
    const number = Number(value);
    return Number.isSafeInteger(number) ? number : String(value);
  }
  if (typeof value === "number" && !Number.isFinite(value)) return String(value);
  return value instanceof Uint8Array ? `\\x${Buffer.from(value).toString("hex")}` : value;
}

/** A value of `params` as SQLite takes it: it has no truth values, and no lists or maps but as JSON. */
function jsonToSqlite(value: unknown): null | number | bigint | string {
  switch (typeof value) {
    case "string":
      return value;
    case "boolean":
      return value ? 1n : 0n;
    case "number":
      // Node binds every number as one with a fraction, and `1.0` isn't `1` in a column without a type.
      return Number.isSafeInteger(value) ? BigInt(value) : value;
    default:
      return value === null ? null : JSON.stringify(value);
  }
}

type SqliteValue = ReturnType<typeof jsonToSqlite>;

/** A statement's parameters with their values, in the way in which Node takes them. */
export type Bound =
  | { readonly kind: "in-order"; readonly values: readonly SqliteValue[] }
  | { readonly kind: "by-name"; readonly values: Readonly<Record<string, SqliteValue>> };

type Binding = Bound | { readonly kind: "invalid"; readonly problem: string };

/**
 * Gives each parameter of a statement its value: `?` in their order, `?1` and `$1` by their numbers. SQLite itself takes
 * one without a value for null, so a wrong number of values is found here.
 */
export function bind(text: string, params: readonly unknown[]): Binding {
  const names = parametersIn(text);
  const numbered = names.filter((name) => /^[?$]\d+$/.test(name));
  const strange = names.find((name) => name !== "?" && !numbered.includes(name));
  if (strange !== undefined) {
    return invalid(`the parameter \`${strange}\` has no number; write \`?\`, or \`$1\`, \`$2\` and so on`);
  }
  if (numbered.length > 0 && numbered.length < names.length) {
    return invalid("a statement has parameters as `?` or with numbers, not both");
  }
  const numbers = new Set(numbered.map((name) => Number(name.slice(1))));
  const count = numbers.size > 0 ? Math.max(...numbers) : names.length;
  if (count !== params.length || numbers.has(0) || (numbers.size > 0 && numbers.size < count)) {
    return invalid(`the statement takes ${describe(numbers, count)}, and \`params\` holds ${params.length}`);
  }
  if (numbers.size === 0) return { kind: "in-order", values: params.map(jsonToSqlite) };
  return {
    kind: "by-name",
    values: Object.fromEntries(
      numbered.map((name) => [name, jsonToSqlite(params[Number(name.slice(1)) - 1])]),
    ),
  };
}

function describe(numbers: ReadonlySet<number>, count: number): string {
  if (numbers.size === 0) return count === 1 ? "1 value" : `${count} values`;
  return `the values ${[...numbers].toSorted((one, other) => one - other).join(", ")}`;
}

/** The parameters as they are written, in their order; not what looks like one in a text, a name or a comment. */
function parametersIn(text: string): readonly string[] {
  const token =
    /'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*\]|--[^\n]*|\/\*[\s\S]*?\*\/|[\p{L}_][\p{L}\p{N}_$]*|\?\d*|[:@$][\p{L}\p{N}_]+/gu;
  return [...text.matchAll(token)].flatMap(([found]) => (/^[?:@$]/.test(found) ? [found] : []));
}

function invalid(problem: string): Binding {
  return { kind: "invalid", problem };
}
