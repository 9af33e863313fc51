import pg from "pg";
import { writeJson } from "../../pipeline/expression/value.ts";
import { exactNumber, parseExactly } from "./exactNumbers.ts";

/**
 * A column's value for JSON. Booleans, JSON, arrays of common types, and numbers that JSON can hold exactly keep their
 * type; everything else is text, as PostgreSQL writes it.
 *
 * @param type the oid of the column's type in `pg_type`.
 */
export function postgresToJson(value: unknown, type: number): unknown {
  if (typeof value !== "string") return value;
  const itemType = itemTypes.get(type);
  if (itemType !== undefined) return itemsToJson(pg.types.getTypeParser(textList)(value), itemType);
  switch (type) {
    case bool:
      return value === "t";
    case json:
    case jsonb:
      return parseExactly(value);
    case float4:
    case float8:
      return Number.isFinite(Number(value)) ? Number(value) : value;
    case int2:
    case int4:
    case int8:
    case oid:
    case numeric:
      return exactNumber(value);
    default:
      return value;
  }
}

/**
 * A value of `params` for PostgreSQL: text, whose type the statement decides. Lists and maps are JSON.
 *
 * @param isArray whether a list is an array of PostgreSQL's, which the library writes.
 */
export function jsonToPostgres(value: unknown, isArray: boolean): unknown {
  if (value === null) return null;
  if (isArray && Array.isArray(value)) return value.map((item) => jsonToPostgres(item, true));
  return typeof value === "string" ? value : writeJson(value);
}

function itemsToJson(items: unknown, type: number): unknown {
  return Array.isArray(items) ? items.map((item) => itemsToJson(item, type)) : postgresToJson(items, type);
}

const { BOOL: bool, FLOAT4: float4, FLOAT8: float8, INT2: int2, INT4: int4, INT8: int8 } = pg.types.builtins;
const { JSON: json, JSONB: jsonb, NUMERIC: numeric, OID: oid, TEXT: text, UUID: uuid } = pg.types.builtins;
const textList: number = 1009;
/** The item type of each array type. These oids are fixed. */
const itemTypes = new Map<number, number>([
  [1000, bool],
  [1005, int2],
  [1007, int4],
  [textList, text],
  [1015, text],
  [1016, int8],
  [1021, float4],
  [1022, float8],
  [1231, numeric],
  [2951, uuid],
  [199, json],
  [3807, jsonb],
]);
