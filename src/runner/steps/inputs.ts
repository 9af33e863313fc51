import type { InputValue, InputValues } from "../../contract/inputs.ts";
import { ExpressionFault, type Json, type JsonMap, kindOf } from "../../pipeline/expression/value.ts";
import type { Input } from "../../pipeline/pipeline.ts";
import { type Filling, fillValue } from "../step/fillIn.ts";

/**
 * The values of the inputs that are declared: what is given, else the default.
 * @throws ExpressionFault when one is missing, or isn't of its type or one of its options.
 */
export function givenInputs(declared: readonly Input[], given: JsonMap, filling: Filling): InputValues {
  return Object.fromEntries(
    declared.map((input): [string, InputValue] => {
      const { name, default: byDefault } = input;
      const value = Object.hasOwn(given, name)
        ? given[name]
        : byDefault === undefined
          ? undefined
          : fillValue(byDefault, filling);
      if (value === undefined)
        throw new ExpressionFault(`the input \`${name}\` isn't given, and it has no default`);
      return [name, checked(input, value)];
    }),
  );
}

const kinds = { text: "string", number: "number", boolean: "boolean" } as const;

/** No message shows the value, which may be a secret. */
function checked({ name, type, options }: Input, value: Json): InputValue {
  const isPlain = typeof value === "string" || typeof value === "number" || typeof value === "boolean";
  if (!isPlain || typeof value !== kinds[type]) {
    const expected = type === "boolean" ? "true or false" : `a ${type}`;
    throw new ExpressionFault(`the input \`${name}\` takes ${expected}, and it is given ${kindOf(value)}`);
  }
  if (options?.includes(value) === false) {
    const all = options.map((option) => `\`${option}\``).join(", ");
    throw new ExpressionFault(`the input \`${name}\` is one of ${all}, and it is given another value`);
  }
  return value;
}
