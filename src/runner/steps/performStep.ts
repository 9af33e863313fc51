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
import { duration } from "../../text/time.ts";
import { runCliStep } from "../cli/runCliStep.ts";
import { type Filling, fillIn, fillValue } from "../step/fillIn.ts";
import type { StepOutputs } from "../step/runOutput.ts";
import {
  failed,
  type NewArtifact,
  outcomeOf,
  type StepContext,
  type StepOutcome,
  succeeded,
} from "../step/stepContext.ts";
import { asContext, type ResultMemory } from "../step/stepResult.ts";
import type { Scopes } from "./scopes.ts";
import { StepTaker } from "./stepTaker.ts";

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
  /** How many attempts it took; of its items the most. */
  readonly attempts: number;
  /** What `steps.<id>` is. */
  readonly result: Json;
}

/** `each` takes no longer list. */
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
    // Of the attempts the last one counts, which keeps room for what the others had.
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
    if (!(error instanceof ExpressionFault)) throw error;
    // What the earlier steps and the environment gave is the same for each attempt.
    return { outcome: failed(error.message), taker, time: time(), lacksValue: true };
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
