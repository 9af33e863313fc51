import { ExpressionFault, type Json, type JsonMap } from "../../pipeline/expression/value.ts";
import type { Mask } from "../mask/mask.ts";
import { secretsIn } from "../mask/secretForms.ts";

/** What a step gives to expressions, as `this` and as `steps.<id>`. Plain JSON. */
export interface StepResult {
  readonly values: JsonMap;
  /** Why values aren't there that a result of this kind has otherwise, by their names. */
  readonly missing?: Readonly<Record<string, string>>;
  /** In UTF-16 units, without what is read out of a text that counts already. */
  readonly size: number;
}

/** How a step hands over its result before anything of it is shown. */
export interface ResultTaker {
  /** Whether anything looks at it. Otherwise nothing is called for it. */
  readonly isNeeded: boolean;
  /** Whether it holds secrets, so that nothing may be shown before `take`. */
  readonly isSecret: boolean;
  /** Takes the result: what is secret in it is masked from here on. */
  take(make: () => StepResult): void;
  /** What `that` finds wrong in what was taken, or in this result of a reply that goes on, a line each. */
  problems(make?: () => StepResult): readonly string[];
}

export const MB = 1024 * 1024;
/** In UTF-16 units, which are one or two bytes. */
export const largestResult = 10 * MB;
const largestResults = 64 * MB;

export const tooLarge = `it is larger than ${largestResult / MB} MB, the most that is kept of one`;

/** How much the results of a run have in memory. */
export class ResultMemory {
  #room = largestResults;

  /** @returns the result, or no more than its numbers where there is no room left. */
  keep(result: StepResult): StepResult {
    if (result.size <= this.#room) {
      this.#room -= result.size;
      return result;
    }
    return numbersOnly(result, `the results of a run have at most ${largestResults / MB} MB together`);
  }
}

/** A result without all that could hold a text. @param why the rest isn't there. */
export function numbersOnly({ values, missing }: StepResult, why: string): StepResult {
  const names = Object.keys(values).filter((name) => typeof values[name] !== "number");
  const numbers = Object.fromEntries(Object.entries(values).filter(([name]) => !names.includes(name)));
  return {
    values: numbers,
    missing: { ...missing, ...Object.fromEntries(names.map((name) => [name, why])) },
    size: 0,
  };
}

/** The values as expressions find them. One that is missing fails whatever needs it, `exists` too: it isn't known. */
export function asContext({ values, missing = {} }: StepResult, more: JsonMap): JsonMap {
  const context = { ...more, ...values };
  for (const [name, why] of Object.entries(missing)) {
    Object.defineProperty(context, name, {
      enumerable: true,
      get: () => {
        throw new ExpressionFault(`\`${name}\` isn't there: ${why}`);
      },
    });
  }
  return context;
}

/** More secrets, or longer ones, would make masking slow. */
const mostSecrets = { count: 1000, length: 256 * 1024 } as const;

const tooManySecrets = `\`mask\` names more than ${mostSecrets.count} values or lines, or more than ${mostSecrets.length / 1024} KB`;

/**
 * Masks the texts and numbers in values, however deep, from here on.
 * @returns why it can't; then nothing of the step may be shown.
 */
export function maskValues(values: readonly Json[], mask: Mask): string | undefined {
  const secrets: string[] = [];
  let length = 0;
  const rest = [...values];
  for (let value = rest.pop(); value !== undefined; value = rest.pop()) {
    if (typeof value === "object" && value !== null) {
      for (const item of Object.values(value)) rest.push(item);
    } else if (value !== null && typeof value !== "boolean") {
      secrets.push(String(value));
      length += String(value).length;
      if (secrets.length > mostSecrets.count || length > mostSecrets.length) return tooManySecrets;
    }
  }
  if (secretsIn(secrets).size > mostSecrets.count) return tooManySecrets;
  mask.add(secrets);
  return undefined;
}
