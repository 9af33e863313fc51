import { setTimeout as pause } from "node:timers/promises";
import {
  ExpressionFault,
  isList,
  type Json,
  type JsonMap,
  kindOf,
  showValue,
} from "../../pipeline/expression/value.ts";
import type { Step } from "../../pipeline/types/resourceTypes.ts";
import { inResult } from "../../pipeline/types/resultFields.ts";
import { duration } from "../../text/time.ts";
import { runCliStep } from "../cli/runCliStep.ts";
import type { Mask } from "../mask/mask.ts";
import { type Filling, fillIn, fillValue } from "../step/fillIn.ts";
import type { StepOutputs } from "../step/runOutput.ts";
import {
  asContext,
  failed,
  maskValues,
  type NewArtifact,
  numbersOnly,
  outcomeOf,
  type ResultMemory,
  type ResultTaker,
  type StepContext,
  type StepLog,
  type StepOutcome,
  type StepResult,
  succeeded,
} from "../step/stepContext.ts";
import type { Place, Scopes } from "./scopes.ts";

/** What every step of a run needs. */
export interface PerformDeps {
  readonly stepContext: Omit<StepContext, "log" | "saveArtifact" | "results">;
  readonly outputs: StepOutputs;
  readonly scopes: Scopes;
  readonly memory: ResultMemory;
  /** Whether an expression refers to the step. */
  readonly isNeeded: boolean;
}

export interface Performed {
  readonly outcome: StepOutcome;
  /** How many attempts it took; with `each`, the most that an item took. */
  readonly attempts: number;
  /** What `steps.<id>` is. */
  readonly result: Json;
}

const mostItems = 1000;

/** Runs a step: for each of its items, and again as its `retry` says. */
export async function performStep(step: Step, deps: PerformDeps): Promise<Performed> {
  if (step.each === undefined) return tryRepeatedly(step, undefined, deps);
  const { outputs, scopes, stepContext } = deps;
  let items: readonly Json[];
  try {
    items = itemsOf(step, scopes.at(step.part));
  } catch (error) {
    if (!(error instanceof ExpressionFault)) throw error;
    return { outcome: failed(error.message), attempts: 1, result: [] };
  }
  if (items.length === 0) outputs.log.note("there are no items");
  const results: Json[] = [];
  const lines: string[] = [];
  let attempts = 1;
  for (const [index, value] of items.entries()) {
    const which = `item ${index + 1} of ${items.length}`;
    if (stepContext.signal.aborted) {
      lines.push(`${which}: the step was ended before it`);
      break;
    }
    outputs.log.note(`${which}: ${showValue(value, stepContext.mask)}`);
    const one = await tryRepeatedly(step, { value, index }, deps);
    results.push(one.result);
    attempts = Math.max(attempts, one.attempts);
    if (one.outcome.kind === "succeeded") continue;
    lines.push(`${which}: ${one.outcome.message}`);
    if (step.goesOn !== true) break;
  }
  return { outcome: lines.length === 0 ? succeeded : failed(lines.join("\n")), attempts, result: results };
}

/** The items of a step with `each`. @throws ExpressionFault when they can't be filled in, or are no list of its length. */
export function itemsOf({ each }: Step, filling: Filling): readonly Json[] {
  const values = fillValue(each, filling);
  if (!isList(values)) {
    const how = typeof values === "string" ? "; one that is written as JSON is read by `fromJSON(…)`" : "";
    throw new ExpressionFault(`\`each\` takes a list, and this is ${kindOf(values)}${how}`);
  }
  if (values.length > mostItems)
    throw new ExpressionFault(`\`each\` takes at most ${mostItems} items, and these are ${values.length}`);
  return values;
}

/** @param each the item with its index; undefined for a step without `each`. */
async function tryRepeatedly(step: Step, each: JsonMap | undefined, deps: PerformDeps): Promise<Performed> {
  const { retry } = step;
  const { memory, outputs, stepContext } = deps;
  const { times = Number.POSITIVE_INFINITY, forMilliseconds = Number.POSITIVE_INFINITY } = retry ?? {
    times: 1,
  };
  const every = retry?.everyMilliseconds ?? 0;
  const began = performance.now();
  const within = forMilliseconds === Number.POSITIVE_INFINITY ? "" : `, within ${duration(forMilliseconds)}`;
  const of = times === Number.POSITIVE_INFINITY ? within : ` of ${times}${within}`;
  for (let attempts = 1; ; attempts += 1) {
    if (attempts > 1) outputs.log.note(`attempt ${attempts}${of}`);
    const artifacts: NewArtifact[] = [];
    const saveArtifact =
      retry === undefined ? outputs.saveArtifact : (artifact: NewArtifact) => void artifacts.push(artifact);
    const attempt = await attemptOnce(
      step,
      { each, attempts },
      { ...deps, outputs: { ...outputs, saveArtifact } },
    );
    const { outcome, taker, time } = attempt;
    const isLast =
      outcome.kind === "succeeded" ||
      attempt.lacksValue ||
      stepContext.signal.aborted ||
      attempts >= times ||
      performance.now() - began + every >= forMilliseconds;
    if (!isLast) {
      outputs.log.note(`attempt ${attempts}${of} failed: ${outcome.message}`);
      await pause(every, undefined, { signal: stepContext.signal }).catch(() => {});
      if (!stepContext.signal.aborted) continue;
    }
    // Only the last attempt counts, so the earlier ones take no room from it.
    for (const artifact of artifacts) outputs.saveArtifact(artifact);
    const more = { outcome: outcome.kind, time, attempts };
    const result = deps.isNeeded ? asContext(memory.keep(taker.result), more) : more;
    return { outcome, attempts, result };
  }
}

/** @param which its item, and how many attempts there were with this one. @returns also its time, in seconds. */
async function attemptOnce(
  step: Step,
  { each, attempts }: { readonly each: JsonMap | undefined; readonly attempts: number },
  { scopes, stepContext, outputs, isNeeded }: PerformDeps,
) {
  const began = performance.now();
  const time = () => Math.round(performance.now() - began) / 1000;
  const mask = stepContext.mask.ofStep();
  const own = each === undefined ? {} : { each };
  const place = (result: JsonMap) => scopes.at(step.part, { ...own, this: result }, mask);
  const soFar = () => ({ attempts, time: time() });
  const taker = new StepTaker({ step, isNeeded, mask, place, outputs, soFar });
  const context: StepContext = {
    ...stepContext,
    mask,
    log: taker.log,
    results: taker,
    saveArtifact: (artifact) => taker.saveArtifact(artifact),
  };
  let filled: Step;
  try {
    filled = fillIn(step, scopes.at(step.part, own));
  } catch (error) {
    // Not tried again: what the earlier steps and the environment gave stays the same.
    return { outcome: await outcomeOf(Promise.reject(error)), taker, time: time(), lacksValue: true };
  }
  const outcome = await outcomeOf(runFilled(filled, context));
  taker.release();
  return { outcome, taker, time: time(), lacksValue: false };
}

/** Where each resource type runs its steps; `pipeline/types/resourceTypes.ts` says what a new type needs. */
async function runFilled(filled: Step, stepContext: StepContext): Promise<StepOutcome> {
  // Only what most runs need is loaded before a run begins.
  switch (filled.type) {
    case "browser": {
      const { runBrowserStep } = await import("../browser/runBrowserStep.ts");
      return runBrowserStep(filled, stepContext);
    }
    case "cli":
      return runCliStep(filled, stepContext);
    case "http": {
      const { runHttpStep } = await import("../http/runHttpStep.ts");
      return runHttpStep(filled, stepContext);
    }
    case "sql": {
      const { runSqlStep } = await import("../sql/runSqlStep.ts");
      return runSqlStep(filled, stepContext);
    }
  }
}

interface TakerDeps {
  readonly step: Step;
  /** Whether an expression of another step needs the result. */
  readonly isNeeded: boolean;
  /** The attempt's mask. */
  readonly mask: Mask;
  /** The scope of `that`. @param result the value of `this`. */
  readonly place: (result: JsonMap) => Place;
  readonly outputs: Pick<StepOutputs, "log" | "saveArtifact">;
  /** How many attempts there were, and how long this one takes so far, in seconds. */
  readonly soFar: () => { readonly attempts: number; readonly time: number };
}

/**
 * The result of one attempt at a step: looks at it, and masks what is secret in it. Until it is there, the lines of a step with
 * secrets are held back.
 */
class StepTaker implements ResultTaker {
  readonly isNeeded: boolean;
  readonly isSecret: boolean;
  readonly log: StepLog;
  readonly #deps: TakerDeps;
  readonly #that: readonly string[];
  /** What is held back; undefined once it needn't be any more. */
  #held: string[] | undefined;
  #taken: StepResult | undefined;

  constructor(deps: TakerDeps) {
    const { step, isNeeded, outputs } = deps;
    this.#deps = deps;
    this.#that = step.that ?? [];
    this.isSecret = step.mask !== undefined;
    this.isNeeded = isNeeded || this.isSecret || this.#that.length > 0;
    if (this.isSecret) this.#held = [];
    this.log = {
      ...outputs.log,
      note: (line) => (this.#held === undefined ? outputs.log.note(line) : this.#held.push(line)),
    };
  }

  /** What was taken; empty for an attempt without a result. */
  get result(): StepResult {
    return this.#taken ?? { values: {}, size: 0 };
  }

  take(make: () => StepResult): void {
    if (!this.isNeeded) return;
    const result = make();
    const why = this.isSecret ? this.#maskIn(result) : undefined;
    if (why === undefined) {
      this.#taken = result;
    } else {
      this.#deps.mask.hideAll();
      this.log.note(`nothing that came is shown or kept: ${why}`);
      this.#taken = numbersOnly(result, why);
    }
    this.release();
  }

  problems(make?: () => StepResult): readonly string[] {
    if (this.#that.length === 0) return [];
    const place = this.#deps.place(asContext(make?.() ?? this.result, this.#deps.soFar()));
    return this.#that.flatMap((condition) => {
      try {
        return place.explain(condition) ?? [];
      } catch (error) {
        if (error instanceof ExpressionFault) return error.message;
        throw error;
      }
    });
  }

  saveArtifact(artifact: NewArtifact): void {
    const { mask, outputs } = this.#deps;
    if (mask.hidesAll) this.log.note(`${artifact.name} isn't kept`);
    else outputs.saveArtifact(artifact);
  }

  /** Lets the lines through that were held back. */
  release(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const line of held) this.#deps.outputs.log.note(line);
  }

  /** @returns why the secrets in the result can't be determined. */
  #maskIn(result: StepResult): string | undefined {
    const found: Json[] = [];
    let problem: string | undefined;
    const place = this.#deps.place(asContext(result, {}));
    for (const path of this.#deps.step.mask ?? []) {
      try {
        found.push(place.evaluate(inResult(path), undefined));
      } catch (error) {
        if (!(error instanceof ExpressionFault)) throw error;
        // If a reply could be read and lacks the member, there is nothing to hide. One that couldn't be read may have it.
        const [member = ""] = /^\[?'?([\w-]+)/.exec(path)?.slice(1) ?? [];
        if (!error.isMissing || !Object.hasOwn(result.values, member))
          problem = `the step's \`mask\` names \`${path}\`, and ${error.message}`;
        else this.log.note(`\`${path}\`, which \`mask\` names, isn't there`);
      }
    }
    return maskValues(found, this.#deps.mask) ?? problem;
  }
}
