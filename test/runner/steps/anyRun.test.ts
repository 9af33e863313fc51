// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions as pipeline files write them.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import fc from "fast-check";
import { parsePipeline } from "../../../src/pipeline/parsePipeline.ts";
import type { Message } from "../../../src/runner/launch/messages.ts";
import type { Job } from "../../../src/runner/launch/protocol.ts";
import { RunOutput } from "../../../src/runner/step/runOutput.ts";
import { runSteps } from "../../../src/runner/steps/runSteps.ts";
import { openScopes, runContext } from "../../../src/runner/steps/scopes.ts";
import { LoopbackService } from "../../client/loopbackService.ts";
import { newRunId } from "../launch/launchTestRun.ts";
import { stepContextFor } from "../step/stepContextFor.ts";

/** What a step or a part is made of. `first` is true where the first step of its list's `steps` has succeeded. */
const conditions = { yes: undefined, no: "false", broken: "fromJSON('1')", first: "first" } as const;
type Condition = keyof typeof conditions;

const anyStep = fc.record({
  kind: fc.constant("step" as const),
  if: fc.constantFrom<Condition>("yes", "yes", "yes", "yes", "no", "broken", "first", "first"),
  /** How many items it has; undefined without `each`. */
  each: fc.option(fc.nat(3), { nil: undefined, freq: 2 }),
  times: fc.constantFrom(1, 1, 2, 3),
  /** How many attempts at each item fail. */
  failures: fc.tuple(...[0, 1, 2].map(() => fc.constantFrom(0, 0, 0, 1, 2, 3))),
  goesOn: fc.boolean(),
});

const anyPart = fc.record({
  kind: fc.constant("part" as const),
  if: fc.constantFrom<Condition>("yes", "yes", "yes", "no", "broken"),
  goesOn: fc.boolean(),
  steps: fc.array(anyStep, { minLength: 1, maxLength: 3 }),
  finally: fc.array(anyStep, { maxLength: 2 }),
});

const anyEntry = fc.oneof({ arbitrary: anyStep, weight: 3 }, { arbitrary: anyPart, weight: 1 });

const anyRun = fc.record({
  steps: fc.array(anyEntry, { minLength: 1, maxLength: 4 }),
  finally: fc.array(anyEntry, { maxLength: 3 }),
  /** Its steps, or all of it, are ended during that request. */
  end: fc.record({ at: fc.integer({ min: 1, max: 25 }), how: fc.constantFrom("steps", "all") }),
});

type AnyStep = typeof anyStep extends fc.Arbitrary<infer T> ? T : never;
type AnyPart = typeof anyPart extends fc.Arbitrary<infer T> ? T : never;
type AnyRun = typeof anyRun extends fc.Arbitrary<infer T> ? T : never;
type Lists = Pick<AnyRun, "steps" | "finally">;

/** A name for each step and part: where it stands. */
function nameAt(list: "steps" | "finally", index: number, of = ""): string {
  return `${of}${list === "steps" ? "s" : "f"}${index}`;
}

/** The files of a run, by their names. */
function filesOf(run: Lists, url: string): Map<string, object> {
  const files = new Map<string, object>();
  const fileOf = ({ steps, finally: cleanup }: Lists, of: string, more: object) => {
    const entriesOf = (list: "steps" | "finally", entries: Lists["steps"]) =>
      entries.map((entry, index) => {
        const name = nameAt(list, index, of);
        const condition = isFirst(entry, name, steps[0], of)
          ? `default(steps.${of}s0.outcome, '') == 'succeeded'`
          : entry.if === "first"
            ? undefined
            : conditions[entry.if];
        const control = {
          ...{ id: name, name, ...(condition && { if: condition }) },
          ...(entry.goesOn && { "on-failure": "continue" }),
        };
        if (entry.kind === "part") {
          files.set(`${name}.yaml`, fileOf(entry, name, {}));
          return { ...control, include: `${name}.yaml` };
        }
        const { each, failures, times } = entry;
        return {
          ...{ ...control, use: "shop" },
          ...(each === undefined
            ? { get: `/${name}/0/${failures[0]}` }
            : {
                each: `\${{ fromJSON('${JSON.stringify(failures.slice(0, each))}') }}`,
                get: `/${name}/\${{ each.index }}/\${{ each.value }}`,
              }),
          ...(times > 1 && { retry: { times, every: 0 } }),
        };
      });
    return {
      ...{ ...more, resources: { shop: { type: "http", "base-url": url } } },
      ...{ steps: entriesOf("steps", steps), outputs: { kept: true } },
      ...(cleanup.length > 0 && { finally: entriesOf("finally", cleanup) }),
    };
  };
  files.set("main.yaml", fileOf(run, "", { "time-limit": "1h" }));
  return files;
}

/** Whether an entry depends on the first step, which stands before it and has no list. */
function isFirst(
  { if: condition }: { if: Condition },
  name: string,
  first: Lists["steps"][number] | undefined,
  of: string,
): boolean {
  return condition === "first" && name !== `${of}s0` && first?.kind === "step" && first.each === undefined;
}

/** What the runner is to do, told once more as simply as can be. */
class Model {
  readonly told: string[] = [];
  readonly asked: string[] = [];
  readonly #run: AnyRun;
  /** The outcomes of the first steps, by the name of their list's part. */
  readonly #first = new Map<string, string>();
  #failed = false;
  #isOver = false;

  constructor(run: AnyRun) {
    this.#run = run;
    const begun = new Set<string>();
    const hasStopped = this.#main(begun);
    this.#clean(run.finally, "", run.steps[0]);
    for (const [index, part] of [...run.steps.entries()].reverse()) {
      if (part.kind !== "part") continue;
      const name = nameAt("steps", index);
      if (begun.has(name)) this.#clean(part.finally, name, part.steps[0]);
      else this.#skip(part.finally, "finally", name);
    }
    if (this.#isOver || hasStopped) return;
    if (!this.#failed) this.told.push("outputs");
    this.told.push(this.#failed ? "run failed" : "run succeeded");
  }

  /** @returns whether its steps were ended. */
  #main(begun: Set<string>): boolean {
    const { steps } = this.#run;
    for (const [index, entry] of steps.entries()) {
      const name = nameAt("steps", index);
      if (entry.kind === "step") {
        const end = this.#step(entry, name, "", steps[0]);
        if (end === "stopped") return true;
        if (end === "failed" && !entry.goesOn) return false;
        continue;
      }
      if (this.#enter(entry, name)) begun.add(name);
      else if (entry.if === "broken" && !entry.goesOn) return false;
      else if (entry.if === "broken") this.#skip(entry.steps, "steps", name, 1);
      for (const [at, step] of begun.has(name) ? entry.steps.entries() : []) {
        const end = this.#step(step, nameAt("steps", at, name), name, entry.steps[0]);
        if (end === "stopped") return true;
        if (end !== "failed" || step.goesOn) continue;
        if (!entry.goesOn) return false;
        this.#skip(entry.steps, "steps", name, at + 1);
        break;
      }
    }
    return false;
  }

  /** Cleans up, all of it, whatever fails. */
  #clean(entries: Lists["finally"], of: string, first: Lists["steps"][number] | undefined): void {
    for (const [index, entry] of entries.entries()) {
      if (this.#isOver) return;
      const name = nameAt("finally", index, of);
      if (entry.kind === "step") {
        this.#step(entry, name, of, first, true);
      } else if (this.#enter(entry, name)) {
        for (const [at, step] of entry.steps.entries())
          if (!this.#isOver) this.#step(step, nameAt("steps", at, name), name, entry.steps[0], true);
        this.#clean(entry.finally, name, entry.steps[0]);
      } else {
        if (entry.if === "broken") this.#skip(entry.steps, "steps", name, 1);
        this.#skip(entry.finally, "finally", name);
      }
    }
  }

  /** @returns whether the part has begun; else its first step says why, or all are skipped. */
  #enter({ if: condition, steps }: AnyPart, name: string): boolean {
    if (condition === "no") this.#skip(steps, "steps", name);
    if (condition === "broken") {
      this.told.push(`${name}s0 started`, `${name}s0 failed`);
      this.#failed = true;
    }
    return condition === "yes";
  }

  #skip(entries: readonly unknown[], list: "steps" | "finally", of: string, from = 0): void {
    if (this.#isOver) return;
    for (let index = from; index < entries.length; index += 1)
      this.told.push(`${nameAt(list, index, of)} skipped`);
  }

  #step(
    step: AnyStep,
    name: string,
    of: string,
    first: Lists["steps"][number] | undefined,
    isCleanup = false,
  ): string {
    const depends = isFirst(step, name, first, of);
    const status =
      step.if === "no" || (depends && this.#first.get(of) !== "succeeded")
        ? "skipped"
        : this.#perform(step, name, isCleanup);
    if (status === "skipped") this.told.push(`${name} skipped`);
    if (status === "failed") this.#failed = true;
    if (name === `${of}s0`) this.#first.set(of, status);
    return status;
  }

  #perform(
    { if: condition, each, times, failures, goesOn }: AnyStep,
    name: string,
    isCleanup: boolean,
  ): string {
    this.told.push(`${name} started`);
    let most = 1;
    const ended = (status: string) => {
      this.told.push(`${name} ${status}${times > 1 ? ` ${most}` : ""}`);
      return status;
    };
    let hasFailed = condition === "broken";
    for (let item = 0; condition !== "broken" && item < (each ?? 1); item += 1) {
      const needed = (failures[item] ?? 0) + 1;
      for (let attempt = 1; attempt <= Math.min(needed, times); attempt += 1) {
        this.asked.push(`/${name}/${item}/${failures[item]}`);
        most = Math.max(most, attempt);
        if (this.asked.length !== this.#run.end.at) continue;
        this.#isOver = this.#run.end.how === "all";
        if (this.#isOver) return "stopped";
        if (!isCleanup) return ended("stopped");
      }
      hasFailed ||= needed > times;
      if (needed > times && !goesOn) break;
    }
    return ended(hasFailed ? "failed" : "succeeded");
  }
}

/** Runs it with a server that fails as it says. */
async function told(run: AnyRun) {
  const told: string[] = [];
  const [all, steps] = [new AbortController(), new AbortController()];
  await using shop = await LoopbackService.listen(({ path }, response) => {
    const fails = shop.asked.filter((one) => one.path === path).length <= Number(path.split("/").at(-1));
    if (shop.asked.length === run.end.at) (run.end.how === "all" ? all : steps).abort();
    response.writeHead(fails ? 500 : 200).end();
  });
  const files = filesOf(run, shop.origin);
  const read = (path: string) => ({ kind: "read", text: JSON.stringify(files.get(path)) }) as const;
  const parsed = parsePipeline(read("main.yaml").text, "main.yaml", read);
  if (parsed.kind === "invalid") assert.fail(JSON.stringify([parsed.problems, ...files]));
  const { pipeline } = parsed;
  const job: Job = { runId: newRunId(), root: "/", pipeline, artifactsFolder: "/", graceMilliseconds: 0 };
  const now = () => new Date();
  const { scopes, mask, isNeeded } = await openScopes(job, () => undefined, {
    run: runContext(job),
    now,
    uuid: randomUUID,
  });
  const { stepContext } = stepContextFor("/", { mask, signal: all.signal });
  const send = (message: Message) => {
    const name = "index" in message ? pipeline.steps[message.index]?.name.split(": ").at(-1) : "";
    if (message.kind === "step") {
      const status = message.status === "running" ? "started" : message.status;
      told.push([name, status, ...(message.attempts === undefined ? [] : [message.attempts])].join(" "));
    }
    if (message.kind === "outputs") told.push("outputs");
    if (message.kind === "finished") told.push(`run ${message.outcome}`);
  };
  const output = new RunOutput({ send: () => {}, now, mask, artifactsFolder: "/" });
  await runSteps(job, {
    ...{ stepContext, output, scopes, isNeeded, send, now },
    isAnythingRunning: async () => true,
    isGroup: () => false,
    cleaningUp: steps.signal,
    cleanUpUntil: () => Number.POSITIVE_INFINITY,
  });
  await stepContext.shared[Symbol.asyncDispose]();
  await output.end();
  return { told, asked: shop.asked.map(({ path }) => path) };
}

describe("any run of steps", () => {
  it("skips, repeats, goes on, ends and cleans up as a simple model of it does", async () => {
    await fc.assert(
      fc.asyncProperty(anyRun, async (run) => {
        const { told: expected, asked } = new Model(run);
        assert.deepEqual(await told(run), { told: expected, asked });
      }),
      // To look for a smaller run that fails may take longer than the test may.
      { numRuns: 200, interruptAfterTimeLimit: 30_000 },
    );
  });
});
