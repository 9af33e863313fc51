import { readFile } from "node:fs/promises";
import { Ajv, type Ajv as AnyAjv, type ErrorObject, type Options, type ValidateFunction } from "ajv";
import { Ajv2019 } from "ajv/dist/2019.js";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { describeError } from "../../contract/errors.ts";
import { showValue } from "../../pipeline/expression/value.ts";
import type { Mask } from "../mask/mask.ts";
import { interruptible, wasInterrupted } from "../output/textSearch.ts";
import { member, mostMismatches } from "../step/jsonMismatches.ts";
import { projectFile } from "../step/projectFile.ts";
import { StepFault } from "../step/stepContext.ts";

/** Says how a JSON text doesn't fit a schema, one line per mismatch. */
export type SchemaCheck = (json: string, mask: Mask) => readonly string[];

export const schemaOptions: Options = {
  allErrors: true,
  verbose: true,
  strict: false,
  logger: false,
  // 19.99 is a multiple of 0.01, though dividing it in floating point leaves a remainder.
  multipleOfPrecision: 6,
};

/** The validators by the draft that a schema's `$schema` names. */
const drafts: readonly (readonly [RegExp, (options: Options) => AnyAjv])[] = [
  [/\/draft-07\//, (options) => new Ajv(options)],
  [/\/2019-09\//, (options) => new Ajv2019(options)],
  [/\/2020-12\/|^$/, (options) => new Ajv2020(options)],
];

/** The beginning of a schema's URI, before its path in the project. `$ref`s are resolved against that URI. */
const origin = "project:/";

/**
 * Reads a JSON Schema of the project, with those that it refers to by their paths.
 * @throws StepFault when a file can't be read or is no schema.
 */
export async function schemaCheck(root: string, path: string): Promise<SchemaCheck> {
  const schema = await readSchema(root, path);
  const draft = "$schema" in schema ? String(schema.$schema) : "";
  const make = drafts.find(([name]) => name.test(draft))?.[1];
  if (make === undefined)
    throw new StepFault(`\`${path}\` names a draft that isn't known: it is 07, 2019-09 or 2020-12`);
  const loadSchema = async (uri: string) => {
    if (!uri.startsWith(origin)) throw new Error(`can't resolve reference ${uri}`);
    return readSchema(root, decodeURIComponent(uri.slice(origin.length)));
  };
  const ajv = make({ ...schemaOptions, loadSchema });
  addFormats.default(ajv);
  try {
    return checkBy(await ajv.compileAsync({ $ref: origin + path }), path);
  } catch (error) {
    if (error instanceof StepFault) throw error;
    throw new StepFault(`\`${path}\` is no JSON Schema that can be used: ${describeError(error)}`);
  }
}

async function readSchema(root: string, path: string): Promise<object> {
  const file = await projectFile(root, path);
  try {
    const schema: unknown = JSON.parse((await readFile(file, "utf8")).replace(/^\uFEFF/, ""));
    if (typeof schema === "boolean") return schema ? {} : { not: {} };
    if (typeof schema === "object" && schema !== null) return schema;
  } catch (error) {
    throw new StepFault(`\`${path}\` is no JSON: ${describeError(error)}`);
  }
  throw new StepFault(`\`${path}\` is no JSON Schema, which is a map, true or false`);
}

function checkBy(validate: ValidateFunction, path: string): SchemaCheck {
  return (json, mask) => {
    const value: unknown = JSON.parse(json);
    try {
      interruptible(() => void validate(value))();
    } catch (error) {
      throw uncheckable("reply", path, error);
    }
    return describeErrors(validate.errors ?? [], value, mask, path);
  };
}

/** The fault of a request or reply that can't be checked by a file's rules. @param error what the check threw. */
export function uncheckable(what: "request" | "reply", path: string, error: unknown): StepFault {
  return new StepFault(
    wasInterrupted(error)
      ? `the ${what} can't be checked by \`${path}\` within a second; write its patterns without repetition within repetition`
      : `the ${what} can't be checked by \`${path}\`: ${describeError(error)}`,
  );
}

/** The first mismatches of a value, one per line. @param path the file with the rules. */
export function describeErrors(
  errors: readonly ErrorObject[],
  value: unknown,
  mask: Mask,
  path: string,
): readonly string[] {
  // Several alternatives may report the same mismatch.
  const keyOf = ({ instancePath, keyword, params }: ErrorObject) =>
    JSON.stringify([instancePath, keyword, params]);
  const distinct = [...new Map(errors.map((error) => [keyOf(error), error])).values()];
  const lines = distinct.slice(0, mostMismatches).map((error) => describe(error, value, mask));
  const more = distinct.length - lines.length;
  return more > 0 ? [...lines, `and ${more} more by \`${path}\``] : lines;
}

/** The place in the reply, and the rule that isn't kept there, in words. */
function describe(error: ErrorObject, root: unknown, mask: Mask): string {
  const { keyword, params, data, schema, message = keyword } = error;
  const [at, got] = [pathOf(error.instancePath, root), showValue(data, mask)];
  const expected = (what: string) => `${at}: expected ${what}, got ${got}`;
  switch (keyword) {
    case "type":
      return expected([schema].flat().map(String).map(withArticle).join(" or "));
    case "required":
    case "dependentRequired":
      return `${at}${member(String(params["missingProperty"]))}: expected a value, got nothing`;
    case "additionalProperties":
    case "unevaluatedProperties":
      return `${at}${member(String(params["additionalProperty"] ?? params["unevaluatedProperty"]))}: this member isn't allowed`;
    case "enum":
      return expected(`one of ${showValue(schema, mask)}`);
    case "const":
      return expected(showValue(schema, mask));
    default:
      return `${at}: ${message.replace(/^must NOT /, "must not ")}, got ${got}`;
  }
}

function withArticle(type: string): string {
  return type === "null" ? type : `${/^[aio]/.test(type) ? "an" : "a"} ${type}`;
}

/** A JSON pointer as messages write a path: `$.items[0].price`. */
function pathOf(pointer: string, root: unknown): string {
  let value = root;
  const names = pointer.split("/").slice(1);
  return names.reduce((path, escaped) => {
    const name = escaped.replaceAll("~1", "/").replaceAll("~0", "~");
    const isList = Array.isArray(value);
    value = new Map<string, unknown>(Object.entries(value ?? {})).get(name);
    return isList ? `${path}[${name}]` : path + member(name);
  }, "$");
}
