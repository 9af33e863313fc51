import { largestRanPipeline } from "../../contract/limits.ts";
import type { InputValue, InputValues } from "../../contract/pipelines.ts";
import type { RanPipeline } from "../../contract/run.ts";
import { ExpressionFault, type Json, type JsonMap, kindOf } from "../../pipeline/expression/value.ts";
import type { Input } from "../../pipeline/pipeline.ts";
import { readCommit } from "../../project/commit.ts";
import type { Environment } from "../../project/environment.ts";
import type { Message } from "../launch/messages.ts";
import type { Job } from "../launch/protocol.ts";
import { type Mask, maskedValue } from "../mask/mask.ts";
import { type Filling, fillOutputs, fillValue } from "../step/fillIn.ts";
import type { Scopes } from "./scopes.ts";

interface ValuesDeps {
  readonly scopes: Scopes;
  readonly stepContext: { readonly mask: Mask };
  readonly send: (message: Message) => void;
}

/**
 * Begins the file's scope with the inputs of the run, and sends them.
 * @throws ExpressionFault as `givenInputs` does.
 */
export function takeInputs({ pipeline, inputs = {} }: Job, { scopes, stepContext, send }: ValuesDeps): void {
  scopes.begin(undefined, {});
  if (pipeline.inputs === undefined) return;
  const values = givenInputs(pipeline.inputs, inputs, scopes.at(undefined));
  scopes.begin(undefined, values);
  const shown = Object.entries(values).map(([name, value]): [string, InputValue] => {
    const text = stepContext.mask.hide(String(value));
    return [name, text === String(value) ? value : text];
  });
  send({ kind: "inputs", inputs: Object.fromEntries(shown) });
}

/** Before the first step, sends the pipeline file and its parts, masked, unless they are too large, and the folder's commit. */
export async function sendPipeline(
  { source, root, isSnapshot = false }: Job,
  environment: Environment,
  { mask, send, signal }: Pick<ValuesDeps, "send"> & { readonly mask: Mask; readonly signal: AbortSignal },
): Promise<void> {
  if (source === undefined) return;
  // A snapshot's folder is no repository, but may be inside one.
  const commit = isSnapshot ? undefined : await readCommit(root, environment, signal);
  const masked = Object.entries(source.texts).map(([name, text]) => [name, mask.hide(text)]);
  const pipeline: RanPipeline = { path: source.path, texts: Object.fromEntries(masked) };
  if (Buffer.byteLength(JSON.stringify(pipeline)) > largestRanPipeline) pipeline.texts = {};
  send({ kind: "pipeline", ...pipeline, ...(commit && { commit }) });
}

/** In bytes, as JSON. */
const largestOutputs = 64 * 1024;

/**
 * Sends the outputs of the run.
 * @throws ExpressionFault when it has no value, or is too large.
 */
export function giveOutputs({ pipeline }: Job, { scopes, stepContext, send }: ValuesDeps): void {
  if (pipeline.outputs === undefined) return;
  const masked = maskedValue(fillOutputs(pipeline.outputs, scopes.at(undefined)), stepContext.mask);
  // A whole number beyond 2^53 becomes text, since not all who read it can hold it.
  const text = JSON.stringify(masked, (_, item) => (typeof item === "bigint" ? String(item) : item));
  const bytes = Buffer.byteLength(text);
  if (bytes > largestOutputs) {
    const problem = `the outputs have ${bytes} bytes as JSON, and at most ${largestOutputs} are kept`;
    throw new ExpressionFault(problem);
  }
  send({ kind: "outputs", outputs: JSON.parse(text) });
}

/**
 * The values of the inputs that are declared: what is given, else the default.
 * @throws ExpressionFault when one is missing, or isn't of its type or one of its options.
 */
export function givenInputs(declared: readonly Input[], given: JsonMap, filling: Filling): InputValues {
  return Object.fromEntries(
    declared.map((input): [string, InputValue] => {
      const { name, default: byDefault } = input;
      const value = Object.hasOwn(given, name) ? given[name] : byDefault && fillValue(byDefault, filling);
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
