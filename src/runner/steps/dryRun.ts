import { randomUUID } from "node:crypto";
import { meantSteps } from "../../contract/fromStep.ts";
import {
  asText,
  ExpressionFault,
  isMap,
  type Json,
  type JsonMap,
  writeJson,
} from "../../pipeline/expression/value.ts";
import type { Input } from "../../pipeline/pipeline.ts";
import { startsInBackground } from "../../pipeline/startsInBackground.ts";
import type { Step } from "../../pipeline/types/resourceTypes.ts";
import { readEnvFile } from "../../project/envFile.ts";
import { duration } from "../../text/time.ts";
import type { DryRun } from "../launch/messages.ts";
import type { DryJob } from "../launch/protocol.ts";
import type { Mask } from "../mask/mask.ts";
import { removeScratch } from "../processes/scratchFolder.ts";
import { type Filling, fillIn, fillValue } from "../step/fillIn.ts";
import { SharedResources } from "../step/stepContext.ts";
import { nodeOnPath, stepEnvironment, variable } from "../step/stepEnvironment.ts";
import { type DryDeps, dryStep } from "./dryStep.ts";
import { itemsOf } from "./performStep.ts";
import { givenInputs } from "./runValues.ts";
import { isTrue, openScopes, type Scopes } from "./scopes.ts";

type DryStep = DryRun["steps"][number];

/** Goes through the steps of a job as its run would, and starts nothing. */
export async function dryRun(job: DryJob): Promise<DryRun> {
  const { platform } = process;
  const { pipeline, project } = job;
  const runId = `dry-run-${randomUUID()}`;
  const own = stepEnvironment({}, { ...job, runId });
  const { environment } = await nodeOnPath(own, process.execPath, platform);
  const envFile = await readEnvFile(job);
  const variables = envFile.kind === "read" ? { ...environment, ...envFile.variables } : environment;
  const find = (name: string) => variable(variables, name, platform);
  const known = { pipeline: pipeline.name, ...(project === undefined ? {} : { project }) };
  const run = Object.defineProperties(known, { id: unknown, "started-at": unknown });
  const { mask, scopes } = await openScopes(job, find, { run, now: unknown.get, uuid: unknown.get });
  await using shared = new SharedResources();
  try {
    return await new Outlook(job, { root: job.root, environment, platform, mask, shared }, scopes).look();
  } finally {
    await removeScratch(runId);
  }
}

/** Thrown where an expression needs what only the run knows. */
class OpenValue extends ExpressionFault {
  /** The text of an input, with stand-ins. */
  readonly text: string | undefined;

  constructor(text?: string) {
    super("only the run knows this");
    this.text = text;
  }
}

const unknown = {
  enumerable: true,
  get: (): never => {
    throw new OpenValue();
  },
};

/** A map whose members only the run knows: whatever looks into it fails. */
const open: JsonMap = new Proxy({}, new Proxy({}, unknown));

/** What comes of entering a part, or the file itself, before its steps. */
interface Begun {
  readonly skipped?: string;
  readonly conditions: readonly string[];
  readonly problems: readonly string[];
}

type StepOutlook = Pick<DryStep, "conditions" | "does" | "skipped" | "problems" | "warnings">;

class Outlook {
  readonly #job: DryJob;
  readonly #deps: Omit<DryDeps, "isOpen" | "connectsTo">;
  readonly #scopes: Scopes;
  readonly #mask: Mask;
  readonly #standIns = new StandIns();
  /** By the part's index. */
  readonly #begun = new Map<number, Begun>();
  readonly #reported = new Set<string>();
  /** The steps so far that would run. */
  readonly #before: Step[] = [];

  constructor(job: DryJob, deps: Omit<DryDeps, "isOpen" | "connectsTo">, scopes: Scopes) {
    this.#job = job;
    this.#deps = deps;
    this.#scopes = scopes;
    this.#mask = deps.mask;
  }

  async look(): Promise<DryRun> {
    const { pipeline, inputs: given = {}, fromStep } = this.#job;
    const { shown, problems } = this.#takeInputs(undefined, pipeline.inputs ?? [], given, undefined);
    const [first = 0] = fromStep === undefined ? [] : meantSteps(pipeline.steps, fromStep);
    const steps: DryStep[] = [];
    for (const [index, step] of pipeline.steps.entries()) {
      const isBefore = index < first && step.isCleanup !== true;
      const outlook = isBefore ? skipped("the run begins with a later step") : await this.#lookAt(step);
      if (outlook.skipped === undefined) this.#before.push(step);
      const { name, use, type } = step;
      steps.push({
        ...{ name: this.#shown(name), use, type },
        ...(step.isCleanup && { cleanup: true }),
        ...(outlook.skipped !== undefined && { skipped: this.#shown(outlook.skipped) }),
        conditions: outlook.conditions.map((line) => this.#shown(line)),
        does: outlook.does.flatMap((text) => this.#shown(text).split(/\r?\n/)),
        problems: this.#unreported(outlook.problems),
        warnings: this.#unreported(outlook.warnings),
      });
    }
    return {
      inputs: Object.fromEntries(Object.entries(shown).map(([name, text]) => [name, this.#shown(text)])),
      problems: this.#unreported(problems),
      steps,
    };
  }

  async #lookAt(step: Step): Promise<StepOutlook> {
    const part = step.part === undefined ? nothing : this.#begin(step.part);
    if (part.skipped !== undefined) return skipped(part.skipped);
    const conditions = [...part.conditions];
    const problems = [...part.problems];
    const caught = this.#caught(problems);
    const why = caught(() => this.#skipReason(step, step.part, conditions));
    if (why !== undefined) return skipped(why);
    const filling = this.#filling(step.part);
    if (step.each !== undefined) conditions.push(...[caught(() => this.#eachOf(step, filling)) ?? []].flat());
    conditions.push(...howOften(step));
    // A variable that isn't set is shown as the file writes it.
    const unset = (name: string) => this.#standIns.of(`env.${name}`);
    const setAll = { ...filling, variable: (name: string) => filling.variable(name) ?? unset(name) };
    const filled = caught(() => fillIn(step, filling)) ?? this.#caught([])(() => fillIn(step, setAll));
    if (filled === undefined) return { conditions, does: [], problems, warnings: [] };
    const isStarted = this.#before.some(startsInBackground);
    const looked = await dryStep(filled, {
      ...this.#deps,
      isOpen: (value) => this.#standIns.isIn(value),
      // A server that an earlier step starts isn't there yet.
      connectsTo: (hostname) => this.#job.isConnecting && !(isStarted && isThisMachine(hostname)),
    });
    // An http step leaves no files on this machine.
    const mayBeMade = this.#before.some(({ type }) => type !== "http");
    return {
      conditions,
      does: [...looked.does],
      problems: [...problems, ...looked.problems, ...(mayBeMade ? [] : looked.missing)],
      warnings: mayBeMade ? looked.missing.map((line) => `unless an earlier step makes it: ${line}`) : [],
    };
  }

  /** Begins a part, with those around it. */
  #begin(index: number): Begun {
    const before = this.#begun.get(index);
    if (before !== undefined) return before;
    const part = this.#job.pipeline.parts?.[index];
    if (part === undefined) throw new Error(`there is no part ${index}`);
    const { parent } = part;
    const outside = parent === undefined ? nothing : this.#begin(parent);
    const conditions = [...outside.conditions];
    const problems = [...outside.problems];
    const caught = this.#caught(problems);
    const why = outside.skipped ?? caught(() => this.#skipReason(part, parent, conditions));
    const given = why === undefined ? caught(() => fillValue(part.given, this.#filling(parent))) : undefined;
    const known = given !== undefined && isMap(given) ? given : open;
    problems.push(...this.#takeInputs(index, part.inputs, known, parent).problems);
    const begun = { ...(why !== undefined && { skipped: why }), conditions, problems };
    this.#begun.set(index, begun);
    return begun;
  }

  /**
   * Begins a scope with its inputs.
   * @param given values that are filled in. @param outside the part in whose scope the defaults are evaluated.
   */
  #takeInputs(
    part: number | undefined,
    declared: readonly Input[],
    given: JsonMap,
    outside: number | undefined,
  ) {
    const values: JsonMap = {};
    const shown: Record<string, string> = {};
    const problems: string[] = [];
    const filling = this.#filling(outside);
    for (const input of declared) {
      const { name, default: byDefault } = input;
      const caught = this.#caught(problems);
      const value = caught(() => {
        const filled = Object.hasOwn(given, name) ? given[name] : byDefault && fillValue(byDefault, filling);
        if (this.#standIns.isIn(filled)) {
          shown[name] = asText(filled ?? null);
          return undefined;
        }
        return givenInputs([input], filled === undefined ? {} : { [name]: filled }, filling)[name];
      });
      if (value !== undefined) shown[name] = String(value);
      const get = (): Json => {
        if (value === undefined) throw new OpenValue(shown[name]);
        return value;
      };
      Object.defineProperty(values, name, { get, enumerable: true });
    }
    this.#scopes.begin(part, values, open);
    return { shown, problems };
  }

  /** @returns why a step or a part is skipped. @param conditions gets a condition that only the run knows. */
  #skipReason(
    { if: condition }: Pick<Step, "if">,
    part: number | undefined,
    conditions: string[],
  ): string | undefined {
    if (condition === undefined) return undefined;
    try {
      return isTrue(condition, this.#scopes.at(part)) ? undefined : `\`if\` is false: ${condition}`;
    } catch (error) {
      if (!(error instanceof OpenValue)) throw error;
      conditions.push(`if ${condition}`);
      return undefined;
    }
  }

  #eachOf(step: Step, filling: Filling): string {
    const filled = fillValue(step.each, filling);
    if (typeof filled === "string" && this.#standIns.isIn(filled)) return `for each of ${filled}`;
    const values = itemsOf(step, filling);
    const shown = values.slice(0, shownItems).map(writeJson);
    const more = values.length > shown.length ? `, and ${values.length - shown.length} more` : "";
    return `for each of ${values.length === 0 ? "no items" : `${shown.join(", ")}${more}`}`;
  }

  /** Fills in what is known, and stand-ins for what isn't. */
  #filling(part: number | undefined): Filling {
    const place = this.#scopes.at(part, { each: open });
    return {
      ...place,
      evaluate: (source, scope) => {
        try {
          const value = place.evaluate(source, scope);
          // A map may hold what only the run knows.
          writeJson(value);
          return value;
        } catch (error) {
          if (!(error instanceof OpenValue)) throw error;
          const isInput = /^\s*inputs\.[\w-]+\s*$/.test(source);
          return (isInput ? error.text : undefined) ?? this.#standIns.of(source);
        }
      },
    };
  }

  /** @param problems gets why there is no value, unless only the run knows it. */
  #caught(problems: string[]) {
    return <T>(look: () => T): T | undefined => {
      try {
        return look();
      } catch (error) {
        if (!(error instanceof ExpressionFault)) throw error;
        if (!(error instanceof OpenValue)) problems.push(error.message);
        return undefined;
      }
    };
  }

  #unreported(lines: readonly string[]): string[] {
    const fresh = lines.map((line) => this.#shown(line)).filter((line) => !this.#reported.has(line));
    for (const line of fresh) this.#reported.add(line);
    return fresh;
  }

  #shown(text: string): string {
    return this.#mask.hide(this.#standIns.written(text));
  }
}

const shownItems = 5;

const nothing: Begun = { conditions: [], problems: [] };

function skipped(why: string): StepOutlook {
  return { skipped: why, conditions: [], does: [], problems: [], warnings: [] };
}

function isThisMachine(hostname: string): boolean {
  return /^(?:(?:.*\.)?localhost|127\..*|\[?::1\]?|\/.*)$/.test(hostname);
}

function howOften({ retry, goesOn }: Step): string[] {
  const { times, forMilliseconds } = retry ?? {};
  const limits = [
    ...(times === undefined ? [] : [`${times} times at most`]),
    ...(forMilliseconds === undefined ? [] : [`for ${duration(forMilliseconds)}`]),
  ];
  return [
    ...(retry === undefined ? [] : [`tried until it succeeds, ${limits.join(", ")}`]),
    ...(goesOn ? ["the run goes on when it fails"] : []),
  ];
}

/** Texts that stand for expressions until they are shown. They survive being put into an address, a header or JSON. */
class StandIns {
  // Random, so that no value can contain one.
  readonly #pattern = new RegExp(`open-${crypto.randomUUID()}-(\\d+)-`, "gi");
  readonly #sources: string[] = [];

  of(source: string): string {
    this.#sources.push(source.trim());
    return this.#pattern.source.replace("(\\d+)", String(this.#sources.length - 1));
  }

  isIn(value: unknown): boolean {
    if (typeof value === "string") return value.search(this.#pattern) !== -1;
    return (
      typeof value === "object" &&
      value !== null &&
      Object.entries(value)
        .flat()
        .some((each) => this.isIn(each))
    );
  }

  /** The text with the expressions as the file writes them. */
  written(text: string): string {
    return text.replace(this.#pattern, (_, number: string) => `\${{ ${this.#sources[Number(number)]} }}`);
  }
}
