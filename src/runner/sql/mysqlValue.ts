import mysql, { type ExecuteValues, type FieldPacket } from "mysql2";
import { writeJson } from "../../pipeline/expression/value.ts";
import { exactNumber, parseExactly } from "./exactNumbers.ts";

/**
 * A column's value for JSON. JSON, and numbers that JSON can hold exactly, keep their type; a blob is `\x` and its hex digits, and
 * everything else text, as MySQL writes it.
 *
 * @param value as the library gives it when dates, decimals and JSON are to be texts.
 */
export function mysqlToJson(value: unknown, column: FieldPacket | undefined): unknown {
  const type = column?.columnType;
  if (value instanceof Uint8Array) {
    const digits = Buffer.from(value).toString("hex");
    return type === bit ? exactNumber(String(BigInt(`0x${digits}`))) : `\\x${digits}`;
  }
  if (typeof value === "number") return type === float ? shortest(value) : value;
  if (typeof value !== "string") return value;
  if (type === decimal || type === newDecimal) return exactNumber(value);
  if (type === dateTime || type === time || type === timestamp)
    return withFraction(value, column?.decimals ?? 0);
  // MariaDB has no type of its own for JSON, but names the format.
  return type === json || column?.extendedFormat === "json" ? jsonOrText(value) : value;
}

/** MariaDB can be told not to check what is called JSON. */
function jsonOrText(text: string): unknown {
  try {
    return parseExactly(text);
  } catch {
    return text;
  }
}

/** A time with as many digits of a second as its column has; a server leaves zeros out. */
function withFraction(time: string, digits: number): string {
  const [whole, fraction = ""] = time.split(".");
  return digits >= 1 && digits <= 6 ? `${whole}.${fraction.padEnd(digits, "0").slice(0, digits)}` : time;
}

/** The shortest number that is the same in 32 bits. */
function shortest(value: number): number {
  for (let digits = 6; digits < 9; digits += 1) {
    const number = Number(value.toPrecision(digits));
    if (Math.fround(number) === value) return number;
  }
  return Number(value.toPrecision(9));
}

/** A value of `params` for MySQL: lists and maps are JSON. */
export function jsonToMysql(value: unknown): ExecuteValues {
  switch (typeof value) {
    case "string":
    case "boolean":
      return value;
    case "number":
      return Number.isSafeInteger(value) ? wholeNumber(BigInt(value)) : value;
    case "bigint":
      return wholeNumber(value);
    default:
      return value === null ? null : writeJson(value);
  }
}

/** The library would send a number as a float, which isn't taken behind `limit`. */
function wholeNumber(value: bigint): ExecuteValues {
  const { LONGLONG: longLong } = mysql.TypedParameter;
  if (BigInt.asIntN(64, value) === value) return longLong(value);
  return BigInt.asUintN(64, value) === value ? longLong.unsigned(value) : String(value);
}

const { BIT: bit, DECIMAL: decimal, FLOAT: float, JSON: json, NEWDECIMAL: newDecimal } = mysql.Types;
const { DATETIME: dateTime, TIME: time, TIMESTAMP: timestamp } = mysql.Types;
