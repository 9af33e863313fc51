import { inspect } from "node:util";

/** A property that doesn't hold. */
export class Broken extends Error {
  override readonly name = "Broken";
  /** What should be true, the same words for every input: by it findings are told apart. */
  readonly rule: string;

  constructor(rule: string, details: unknown) {
    super(`${rule}: ${inspect(details, { depth: 6, breakLength: 110, maxStringLength: 600 })}`);
    this.rule = rule;
  }
}

/** @throws Broken when something isn't as it has to be. */
export function must(holds: boolean, rule: string, details: () => unknown): asserts holds {
  if (!holds) throw new Broken(rule, details());
}

/** What tells one fault from another: the rule that is broken, or where something unexpected was thrown. */
export function signatureOf(error: unknown): string {
  if (error instanceof Broken) return error.rule;
  if (!(error instanceof Error)) return `threw ${typeof error}`;
  const [at = ""] = /(?:src|node_modules)\/[^\s:)]+:\d+/.exec(error.stack ?? "") ?? [];
  return `${error.name} at ${at}`;
}
