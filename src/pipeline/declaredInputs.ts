import * as z from "zod/mini";
import type { InputValue } from "../contract/pipelines.ts";
import { checkShape, isMap } from "./file/checkShape.ts";
import { field, noneByDefault } from "./file/fieldTexts.ts";
import { checkNumbers, type StepReading } from "./file/readValues.ts";
import { idPattern } from "./file/values.ts";
import type { Path } from "./file/yamlSource.ts";
import { isOpen } from "./inputs.ts";
import { type Input, inputTypes } from "./pipeline.ts";

const aValue = "expected a text, a number, true or false";
const value = z.union([z.string(), z.number(), z.boolean()], aValue);

/** An input with more than its default, as the file writes it. */
const inputFileSchema = z.strictObject({
  type: field(z.enum(inputTypes, `expected one of ${inputTypes.join(", ")}`), {
    meaning: "What its value is.",
    byDefault: "that of its `default` or `options`, else `text`",
    bounds: "`text`, `number` or `boolean`",
    values: [...inputTypes],
  }),
  options: field(z.array(value).check(z.minLength(1)), {
    meaning: "The values that it may have. Whoever starts a run picks one.",
    byDefault: "any",
  }),
  default: field(value, {
    meaning: "Its value where a start gives none. A text may use `env` and `run`.",
    byDefault: "none: then each start has to give one",
  }),
  description: noneByDefault(z.string(), "What it is for, shown to whoever starts a run."),
});

/** The whole of `inputs`, for the JSON Schema. */
export const inputsFileSchema = z.record(z.string(), z.nullable(z.union([value, inputFileSchema])));

const aName = "an input's name begins with a letter or `_` and goes on with letters, digits, `_` and `-`";

type Reading = Pick<StepReading, "source" | "problems">;

/** Reads what a file says of its inputs. An invalid one is left out. */
export function readDeclarations(written: unknown, reading: Reading): Input[] {
  if (!isMap(written)) return [];
  return Object.entries(written).flatMap(([name, entry]) => {
    const path = ["inputs", name];
    if (!idPattern.test(name)) reading.problems.addToName(path, aName);
    return readDeclaration(name, entry, path, reading) ?? [];
  });
}

function readDeclaration(name: string, entry: unknown, path: Path, reading: Reading): Input | undefined {
  const { problems } = reading;
  if (entry === null) return { name, type: "text" };
  if (!isMap(entry)) checkNumbers(entry, path, reading, true);
  const plain = value.safeParse(entry);
  if (plain.success) return { name, type: typeOf(plain.data), default: plain.data };
  if (!isMap(entry)) {
    problems.add(
      path,
      "expected the input's default, or a map with `type`, `options`, `default`, `description`",
    );
    return undefined;
  }
  const file = checkShape({ schema: inputFileSchema, noun: "an input" }, entry, path, problems);
  if (file === undefined) return undefined;
  const [firstOption] = file.options ?? [];
  const known = firstOption ?? (isOpen(file.default) ? undefined : file.default);
  const type = file.type ?? (known === undefined ? "text" : typeOf(known));
  const { options, default: byDefault } = file;
  if (type === "number") checkNumbers(entry, path, reading, file.type === undefined);
  for (const [index, option] of (options ?? []).entries()) {
    if (typeOf(option) !== type) problems.addNotText([...path, "options", index], isNot(option, type));
    else if (isOpen(option)) problems.add([...path, "options", index], "nothing can be filled in here");
  }
  if (byDefault !== undefined && !isOpen(byDefault)) {
    if (typeOf(byDefault) !== type) problems.addNotText([...path, "default"], isNot(byDefault, type));
    else if (options?.includes(byDefault) === false)
      problems.add([...path, "default"], `this is none of the \`options\`: ${options.join(", ")}`);
  }
  return { ...file, name, type };
}

function typeOf(value: InputValue): Input["type"] {
  return typeof value === "string" ? "text" : typeof value === "number" ? "number" : "boolean";
}

function isNot(value: InputValue, type: Input["type"]): string {
  if (type === "text") return `expected text; put this ${typeof value} in quotes`;
  const isQuoted =
    type === "number" ? /^-?\d+(\.\d+)?$/.test(String(value)) : /^(true|false)$/.test(String(value));
  return `${type === "number" ? "expected a number" : "expected true or false"}${isQuoted ? "; leave out the quotes" : ""}`;
}
