import assert from "node:assert/strict";
import { tmpdir } from "node:os";
import { ensureChromium } from "../../../scripts/chromium.ts";
import { sayToStandardError } from "../../../scripts/say.ts";
import { runBrowserStep } from "../../../src/runner/browser/runBrowserStep.ts";
import {
  type NewArtifact,
  outcomeOf,
  type ResultTaker,
  SharedResources,
  type StepContext,
  type StepOutcome,
  type StepResult,
} from "../../../src/runner/step/stepContext.ts";
import type { Answer } from "../../client/loopbackService.ts";
import { pipelineOf } from "../launch/launchTestRun.ts";
import { stepContextFor } from "../step/stepContextFor.ts";

export type StepFile = Readonly<Record<string, unknown>>;

export const html = "text/html; charset=utf-8";

/** Answers each path with its page, whatever stands behind `?`, or as its function does. */
export function pages(answers: Readonly<Record<string, string | Answer>>): Answer {
  return (asked, response, gone) => {
    const answer = answers[asked.path.split("?", 1)[0] ?? ""];
    if (typeof answer === "function") return answer(asked, response, gone);
    if (answer === undefined)
      return response.writeHead(404, { "content-type": "text/plain" }).end("nothing here");
    return response.setHeader("content-type", html).end(answer);
  };
}

/** What a step came to, and what it left. */
export interface Ran {
  readonly outcome: StepOutcome;
  readonly log: string;
  readonly kept: readonly NewArtifact[];
  /** What the step gave to expressions; undefined unless it came so far. */
  readonly result: StepResult | undefined;
}

/** Runs steps, one after the other, in one real browser that all tests of a file share. */
export class BrowserSteps {
  readonly #shared = new SharedResources();
  readonly #resources: Record<string, StepFile> = {};
  #root = tmpdir();
  #executable: string | undefined;

  /** To be called where the tests of a file are described. */
  static forThisFile(): BrowserSteps {
    const steps = new BrowserSteps();
    before(async function () {
      this.timeout(240_000);
      steps.#executable = await ensureChromium(sayToStandardError, new AbortController().signal);
    });
    after(() => steps.#shared[Symbol.asyncDispose]());
    return steps;
  }

  /** Adds a resource beside `web`, which has a page of 800 by 600 pixels; another name is another browser. */
  addResource(name: string, fields: StepFile): void {
    this.#resources[name] = fields;
  }

  /** Runs the steps that follow in this folder. */
  inFolder(root: string): void {
    this.#root = root;
  }

  /** A step as it would stand in a file; one without a `goto` goes on where the last one left. */
  async run(base: string, file: StepFile, changes: Partial<StepContext> = {}): Promise<Ran> {
    let result: StepResult | undefined;
    const results: ResultTaker = {
      isNeeded: true,
      isSecret: false,
      take: (make) => {
        result = make();
      },
      problems: () => [],
    };
    const test = stepContextFor(this.#root, { results, shared: this.#shared, ...changes });
    const resource = {
      type: "browser",
      "base-url": base,
      timeout: "20s",
      ...(this.#executable === undefined ? {} : { executable: this.#executable }),
    };
    const { use = "web" } = file;
    const own = this.#resources[String(use)] ?? { viewport: { width: 800, height: 600 } };
    const step = pipelineOf({
      resources: { [String(use)]: { ...resource, ...own } },
      steps: [
        { use, goto: "/" },
        { use, ...file },
      ],
    }).steps.at(-1);
    assert.ok(step?.type === "browser");
    const outcome = await outcomeOf(runBrowserStep(step, test.stepContext));
    return { outcome, log: test.logged(), kept: test.kept, result };
  }

  /** Runs a step that has to succeed. */
  async succeed(base: string, file: StepFile): Promise<Ran> {
    const ran = await this.run(base, file);
    assert.deepEqual(ran.outcome, { kind: "succeeded" });
    return ran;
  }

  /**
   * Runs a step that has to fail. A slow machine may need longer for the page than a short `timeout`, so what the step does
   * there is done by another step, once the page is open.
   * @returns its message.
   */
  async fail(base: string, file: StepFile, changes: Partial<StepContext> = {}): Promise<string> {
    const { goto, ...there } = file;
    const isShort = goto !== undefined && "timeout" in there;
    const isThere = isShort && ["actions", "read", "expect"].some((field) => field in there);
    if (isThere) await this.succeed(base, { ...(file["use"] !== undefined && { use: file["use"] }), goto });
    const { outcome } = await this.run(base, isThere ? there : file, changes);
    assert.ok(outcome.kind === "failed", "the step succeeded");
    return outcome.message;
  }
}
