import { type RawBuilder, sql } from "kysely";
import { type InputValue, type InputValues, inputText } from "../../contract/pipelines.ts";
import type { ServedRun } from "../../contract/run.ts";

/** Where a value comes from: the start, the file, or the run, which evaluated it when it began. */
type Origin = "given" | "default" | "evaluated";

/** The inputs of a run by their names, as its row has them. */
export type StoredInputs = Readonly<Record<string, readonly [InputValue, Origin]>>;

/** The inputs as they are fixed at a start. @param values all of them. @param given those that the start gave. */
export function storedInputs(values: InputValues, given: InputValues = {}): StoredInputs {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      name,
      [value, Object.hasOwn(given, name) ? "given" : "default"],
    ]),
  );
}

/** Inputs as a row's column has them; null without any. */
export function inputsColumn(inputs: StoredInputs = {}): string | null {
  return Object.keys(inputs).length === 0 ? null : JSON.stringify(inputs);
}

/** Parses a row's column without checks: only this service writes it. */
export function readInputsColumn(column: string | null): StoredInputs {
  const inputs: StoredInputs = column === null ? {} : JSON.parse(column);
  return inputs;
}

/** The part of a run that the contract shows. */
export function runInputs(column: string | null): Pick<ServedRun, "inputs" | "evaluatedInputs"> {
  if (column === null) return {};
  const all = Object.entries(readInputsColumn(column));
  const inputs = Object.fromEntries(all.map(([name, [value]]) => [name, value]));
  const evaluated = all.flatMap(([name, [, origin]]) => (origin === "evaluated" ? [name] : []));
  return { inputs, ...(evaluated.length === 0 ? {} : { evaluatedInputs: evaluated }) };
}

/** Whether a start gives the same inputs as that of a row did. A text equals the number or boolean that it was read as. */
export function isGivenAlike(column: string | null, given: InputValues = {}): boolean {
  const before = Object.entries(readInputsColumn(column)).flatMap(([name, [value, origin]]) =>
    origin === "given" ? [[name, value] as const] : [],
  );
  const isAlike = ([name, value]: readonly [string, InputValue]) =>
    Object.hasOwn(given, name) && isSame(value, given[name]);
  return before.length === Object.keys(given).length && before.every(isAlike);
}

function isSame(read: InputValue, given: InputValue | undefined): boolean {
  return read === given || (typeof given === "string" && (String(read) === given || Number(given) === read));
}

/**
 * Whether a run's input has a value. A text also matches the number or the boolean that it stands for.
 * @param wanted `name=value`.
 */
export function hasInput(wanted: string): RawBuilder<boolean> {
  const name = wanted.slice(0, wanted.indexOf("="));
  const text = wanted.slice(name.length + 1);
  const other = [true, false, Number(text)].find((value) => inputText(name, value) === wanted);
  const tests = [text, ...(other === undefined ? [] : [other])].map((value) => {
    // Quotes within a value are escaped in the row, so only this input matches. Both databases have `replace`.
    const piece = `"${name}":[${JSON.stringify(value)},`;
    return sql`replace(inputs, ${piece}, '') <> inputs`;
  });
  return sql<boolean>`(${sql.join(tests, sql` or `)})`;
}

/** A row's inputs with those that its run has evaluated, masked; those fixed at its start stay. */
export function withFound(column: string | null, values: InputValues): string | null {
  const found = Object.entries(values).map(([name, value]) => [name, [value, "evaluated"]] as const);
  return inputsColumn({ ...Object.fromEntries(found), ...readInputsColumn(column) });
}
