import { ExpressionFault, type Json, type JsonMap } from "../../pipeline/expression/value.ts";
import type { Step } from "../../pipeline/types/resourceTypes.ts";
import { inResult } from "../../pipeline/types/resultFields.ts";
import type { Mask } from "../mask/mask.ts";
import type { StepOutputs } from "../step/runOutput.ts";
import type { NewArtifact, StepLog } from "../step/stepContext.ts";
import { asContext, maskValues, numbersOnly, type ResultTaker, type StepResult } from "../step/stepResult.ts";
import type { Place } from "./scopes.ts";

interface TakerDeps {
  readonly step: Step;
  /** Whether an expression of another step needs the result. */
  readonly isNeeded: boolean;
  /** That of the attempt. */
  readonly mask: Mask;
  /** Where `that` stands. @param result the value of `this`. */
  readonly place: (result: JsonMap) => Place;
  readonly outputs: Pick<StepOutputs, "log" | "saveArtifact">;
  /** How many attempts there were, and how long this one takes so far, in seconds. */
  readonly soFar: () => { readonly attempts: number; readonly time: number };
}

/**
 * The result of one attempt at a step: looks at it, and masks what is secret in it. Until it is there, the lines of a step with
 * secrets are held back.
 */
export class StepTaker implements ResultTaker {
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

  /** What was taken; empty for an attempt that came to nothing. */
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

  /** @returns why what is secret in the result can't be told. */
  #maskIn(result: StepResult): string | undefined {
    const found: Json[] = [];
    let problem: string | undefined;
    const place = this.#deps.place(asContext(result, {}));
    for (const path of this.#deps.step.mask ?? []) {
      try {
        found.push(place.evaluate(inResult(path), undefined));
      } catch (error) {
        if (!(error instanceof ExpressionFault)) throw error;
        // Where a reply can be read and lacks the member, there is nothing to hide. One that can't be read may have it.
        const [member = ""] = /^\[?'?([\w-]+)/.exec(path)?.slice(1) ?? [];
        if (!error.isMissing || !Object.hasOwn(result.values, member))
          problem = `the step's \`mask\` names \`${path}\`, and ${error.message}`;
        else this.log.note(`\`${path}\`, which \`mask\` names, isn't there`);
      }
    }
    return maskValues(found, this.#deps.mask) ?? problem;
  }
}
