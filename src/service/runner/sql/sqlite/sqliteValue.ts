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
export function jsonToSqlite(value: unknown): null | number | bigint | string {
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
