import { setTimeout as pause } from "node:timers/promises";
import { meantSteps } from "../../contract/fromStep.ts";
import { anySignal } from "../../machine/anySignal.ts";
import { ExpressionFault } from "../../pipeline/expression/value.ts";
import { startsByAmpersand } from "../../pipeline/startsInBackground.ts";
import type { Step } from "../../pipeline/types/resourceTypes.ts";
import { duration } from "../../text/time.ts";
import type { Message } from "../launch/messages.ts";
import { type Job, machineMilliseconds } from "../launch/protocol.ts";
import { endPrograms } from "../processes/endProcesses.ts";
import { writtenIn } from "../step/fillIn.ts";
import type { RunOutput, StepOutputs } from "../step/runOutput.ts";
import { failed, ResultMemory } from "../step/stepContext.ts";
import { Parts } from "./parts.ts";
import { type PerformDeps, type Performed, performStep } from "./performStep.ts";
import { giveOutputs, takeInputs } from "./runValues.ts";
import { isTrue, type Scopes } from "./scopes.ts";

interface RunDeps {
  readonly stepContext: Omit<PerformDeps["stepContext"], "onBackground">;
  readonly output: RunOutput;
  readonly scopes: Scopes;
  /** Whether an expression refers to this id. */
  readonly isNeeded: (id: string) => boolean;
  readonly send: (message: Message) => void;
  readonly now: () => Date;
  /** Whether a step has left a program that still runs. */
  readonly isAnythingRunning: () => Promise<boolean>;
  /** Whether a process that a step started, or its group, is still there; otherwise another may have its id. */
  readonly isGroup: (pid: number) => boolean;
  /** Aborted when the steps have to end so that the run can clean up. */
  readonly cleaningUp: AbortSignal;
  /** When the cleanup has to be over, in `machineMilliseconds`; infinite unless that was said. */
  readonly cleanUpUntil: () => number;
}

/**
 * Runs the steps in order until one fails, then those that clean up, and sends the outcome of each. Sends nothing more once the
 * signal is aborted.
 */
export async function runSteps(job: Job, deps: RunDeps): Promise<void> {
  await new RunOfSteps(job, deps).run();
}

/** The most time for a step that has to end before the cleanup, in milliseconds; it is never more than half of the cleanup's. */
const longestStop = 2000;

/** How a phase of the run ended: all its steps are done with, one that failed ended it, or it was stopped. */
type PhaseEnd = "done" | "failed" | "stopped";

/** A program that goes on after its step. */
interface BackgroundProgram {
  readonly step: string;
  readonly ended: Promise<void>;
  /** How it ended; undefined while it runs. */
  end: string | undefined;
}

/** How long after its connections are closed a program's end may be noticed, in milliseconds. */
const endMilliseconds = 100;

/** Why the cleanup step is stopped. */
class CleanupOver extends Error {
  /** @param rest the time that it had, which a short time limit of the start makes shorter than `finally-limit`. */
  constructor(rest: number, limit: number) {
    const origin = rest < limit ? "what the time limit leaves to it" : "its `finally-limit`";
    super(`what cleans up wasn't over within ${duration(rest)}, ${origin}`);
  }
}

class RunOfSteps {
  readonly #job: Job;
  readonly #deps: RunDeps;
  readonly #parts: Parts;
  readonly #memory = new ResultMemory();
  readonly #first: number;
  /** Noted in the log of the first step that runs. */
  #agent: string | undefined;
  /** Why the run fails: its first failure. */
  #failure: string | undefined;
  /** The programs in the background, except those whose end was reported. */
  readonly #background: BackgroundProgram[] = [];
  /** Whether the run is over, so that such a program may end. */
  #isOver = false;
  #hasNotedMasking = false;
  /** When the last step started. */
  #startedAt: string | undefined;

  constructor(job: Job, deps: RunDeps) {
    const { pipeline, fromStep, agent } = job;
    this.#job = job;
    this.#agent = agent;
    this.#deps = deps;
    this.#parts = new Parts(pipeline.parts ?? [], deps.scopes);
    const [first = 0] = fromStep === undefined ? [] : meantSteps(pipeline.steps, fromStep);
    this.#first = first;
  }

  async run(): Promise<void> {
    const { signal } = this.#deps.stepContext;
    if (this.#isDone(() => takeInputs(this.#job, this.#deps))) {
      const end = await this.#runMain();
      if (signal.aborted) return;
      await this.#cleanUp();
      this.#isOver = true;
      // Whoever has stopped the steps knows how the run ended.
      if (signal.aborted || end === "stopped") return;
      if (this.#failure === undefined) this.#isDone(() => giveOutputs(this.#job, this.#deps));
    }
    const message = this.#failure;
    this.#deps.send(
      message === undefined
        ? { kind: "finished", outcome: "succeeded" }
        : { kind: "finished", outcome: "failed", message },
    );
  }

  /** @returns false for what couldn't be done; then the run fails. */
  #isDone(act: () => void): boolean {
    try {
      act();
      return true;
    } catch (error) {
      if (!(error instanceof ExpressionFault)) throw error;
      this.#fail(error.message);
      return false;
    }
  }

  #fail(message: string): void {
    this.#failure ??= this.#shown(message);
  }

  async #runMain(): Promise<PhaseEnd> {
    const { cleaningUp, stepContext } = this.#deps;
    const signal = anySignal([stepContext.signal, cleaningUp]);
    const steps = [...this.#job.pipeline.steps.entries()].filter(([, { isCleanup }]) => isCleanup !== true);
    for (const [index, step] of steps) {
      if (index < this.#first) {
        this.#skip(index);
        continue;
      }
      if (signal.aborted) return "stopped";
      const end = await this.#goThrough(index, step, signal);
      if (end !== "done") return end;
    }
    return this.#leaveParts(undefined) ? "done" : "failed";
  }

  /** Runs a step, unless it or its part is skipped. */
  async #goThrough(index: number, step: Step, signal: AbortSignal): Promise<PhaseEnd> {
    if (!this.#leaveParts(step.part)) return "failed";
    const position = this.#parts.moveTo(step.part);
    switch (position.kind) {
      case "skipped":
        this.#skip(index);
        return "done";
      case "failed":
        // Nothing of the part has run, so its first step says why.
        this.#started(index);
        this.#stopped(index, { status: "failed", message: this.#shown(position.message) });
        this.#fail(`${step.name}: ${position.message}`);
        return this.#parts.giveUp(position.part) ? "done" : "failed";
      case "inside": {
        const end = await this.#runStep(index, step, signal);
        if (end !== "failed") return end;
        if (step.goesOn === true || step.isCleanup === true) {
          this.#parts.mar(step.part);
          return "done";
        }
        return this.#parts.giveUp(step.part) ? "done" : "failed";
      }
    }
  }

  /** Leaves the parts that are over before the next step. @returns whether the run goes on. */
  #leaveParts(next: number | undefined): boolean {
    for (let left = this.#parts.leave(next); left !== undefined; left = this.#parts.leave(next)) {
      this.#fail(`${this.#parts.name(left.part)}: ${left.message}`);
      if (!this.#parts.giveUp(left.part)) return false;
    }
    return true;
  }

  /** Runs all cleanup steps: one that fails doesn't keep the next one from running. */
  async #cleanUp(): Promise<void> {
    const { pipeline } = this.#job;
    const { cleanUpUntil, stepContext } = this.#deps;
    const steps = [...pipeline.steps.entries()].filter(([, { isCleanup }]) => isCleanup === true);
    const { cleanupMilliseconds } = pipeline;
    if (steps.length === 0 || cleanupMilliseconds === undefined) return;
    const over = new AbortController();
    const rest = Math.max(0, Math.min(cleanupMilliseconds, cleanUpUntil() - machineMilliseconds()));
    const late = new CleanupOver(rest, cleanupMilliseconds);
    const timer = setTimeout(() => over.abort(late), rest);
    const signal = anySignal([stepContext.signal, over.signal]);
    this.#parts.cleanUp();
    for (const [index, step] of steps) {
      if (signal.aborted) break;
      await this.#goThrough(index, step, signal);
    }
    if (!signal.aborted) this.#leaveParts(undefined);
    clearTimeout(timer);
    if (over.signal.aborted) this.#fail(late.message);
  }

  async #runStep(index: number, step: Step, signal: AbortSignal): Promise<PhaseEnd> {
    const { mask, signal: ended } = this.#deps.stepContext;
    /** The result of a step that isn't tried. */
    const untried = (outcome: string) => (step.each === undefined ? { outcome, time: 0, attempts: 0 } : []);
    let isSkipped = false;
    let problem: string | undefined;
    try {
      isSkipped = step.if !== undefined && !isTrue(step.if, this.#deps.scopes.at(step.part));
    } catch (error) {
      if (!(error instanceof ExpressionFault)) throw error;
      problem = error.message;
    }
    if (isSkipped) {
      this.#skip(index);
      this.#deps.scopes.add(step.part, step.id, untried("skipped"));
      return "done";
    }
    this.#started(index);
    const performed =
      problem === undefined
        ? await this.#perform(index, step, signal)
        : { outcome: failed(problem), attempts: 1, result: untried("failed") };
    if (ended.aborted) return "stopped";
    const attempts = step.retry === undefined ? {} : { attempts: performed?.attempts ?? 1 };
    if (performed !== undefined) this.#deps.scopes.add(step.part, step.id, performed.result);
    if (performed?.outcome.kind === "succeeded") {
      this.#stopped(index, { status: "succeeded", ...attempts });
      return "done";
    }
    if (performed === undefined || signal.aborted) {
      const { reason } = signal;
      const why = reason instanceof CleanupOver ? { message: reason.message } : {};
      this.#stopped(index, { status: "stopped", ...why, ...attempts });
      return "stopped";
    }
    const gone = await this.#goneProgram(performed.outcome.message, index);
    const message = mask.hide(`${performed.outcome.message}${gone}`);
    this.#stopped(index, { status: "failed", message, ...attempts });
    this.#fail(`${step.name}: ${message}`);
    return "failed";
  }

  /** @returns undefined for a step that had to end, but didn't in time. */
  async #perform(index: number, step: Step, signal: AbortSignal): Promise<Performed | undefined> {
    const { output, stepContext, scopes, isNeeded, isGroup } = this.#deps;
    const outputs = output.step(index);
    if (this.#agent !== undefined) outputs.log.note(`started by the agent ${this.#agent}`);
    this.#agent = undefined;
    const programs: number[] = [];
    const late = Promise.withResolvers<undefined>();
    const settled = new AbortController();
    const time = Math.min(longestStop, (this.#job.pipeline.cleanupMilliseconds ?? 0) / 2);
    const stop = () => {
      // At the run's end all its processes are ended.
      if (stepContext.signal.aborted) return;
      void endPrograms(programs.filter(isGroup), time / 2, settled.signal);
      setTimeout(() => late.resolve(undefined), time).unref();
    };
    const onSpawned = (pid: number) => {
      stepContext.onSpawned(pid);
      // A connection or a browser is the run's: the cleanup may need it.
      if (step.type === "cli") programs.push(pid);
      if (signal.aborted) stop();
    };
    const onBackground = (ended: Promise<string>) => {
      const program: BackgroundProgram = {
        step: step.name,
        end: undefined,
        ended: ended.then((end) => {
          if (this.#isOver || stepContext.signal.aborted) return;
          program.end = end;
          outputs.log.note(`the program ${end} before the run was over`);
        }),
      };
      this.#background.push(program);
    };
    signal.addEventListener("abort", stop, { once: true });
    const performing = performStep(step, {
      stepContext: { ...stepContext, signal, onSpawned, onBackground },
      outputs,
      scopes,
      memory: this.#memory,
      isNeeded: step.id !== undefined && isNeeded(step.id),
    });
    const performed = await Promise.race([performing, late.promise]);
    signal.removeEventListener("abort", stop);
    if (performed !== undefined) settled.abort();
    this.#noteMasking(outputs.log);
    outputs.flush();
    return performed;
  }

  /** Notes once how to show a value that is masked within words and is hardly a secret, such as a stage's name. */
  #noteMasking(log: StepOutputs["log"]): void {
    if (this.#hasNotedMasking || !this.#deps.stepContext.mask.hidesWithinWords) return;
    this.#hasNotedMasking = true;
    const { pipeline } = this.#job;
    const names = [...writtenIn(pipeline).variables].filter((name) => !pipeline.unmasked?.includes(name));
    // A secret that `mask` names is no variable's.
    if (names.length === 0) return;
    log.note(
      `\`***\` stands within words here: the values of ${names.join(", ")} are hidden wherever they stand, and \`unmasked: […]\` at the top of the file names those that are no secrets`,
    );
  }

  /** A line for a step that failed, if a program that an earlier step started in the background has ended. */
  async #goneProgram(message: string, index: number): Promise<string> {
    const where = "that step's log has what it wrote";
    if (this.#background.length > 0) {
      const ended = this.#background.map((program) => program.ended);
      await Promise.race([...ended, pause(endMilliseconds, undefined, { ref: false })]);
    }
    const at = this.#background.findIndex(({ end }) => end !== undefined);
    // Reported once: later steps may fail for another reason.
    const [gone] = at === -1 ? [] : this.#background.splice(at, 1);
    if (gone !== undefined)
      return `\nwhat the step \`${gone.step}\` started in the background ${gone.end}; ${where}`;
    const starter = this.#job.pipeline.steps.slice(this.#first, index).findLast(startsByAmpersand);
    if (starter === undefined || !/connection refused|ECONNREFUSED/i.test(message)) return "";
    if (await this.#deps.isAnythingRunning()) return "";
    return `\nwhat the step \`${starter.name}\` started in the background has ended; ${where}`;
  }

  #shown(message: string): string {
    return this.#deps.stepContext.mask.hide(message);
  }

  #skip(index: number): void {
    this.#deps.send({ kind: "step", index, status: "skipped", stoppedAt: this.#deps.now().toISOString() });
  }

  #started(index: number): void {
    this.#startedAt = this.#deps.now().toISOString();
    this.#deps.send({ kind: "step", index, status: "running", startedAt: this.#startedAt });
  }

  #stopped(
    index: number,
    how: Pick<Extract<Message, { kind: "step" }>, "status" | "message" | "attempts">,
  ): void {
    const times = { startedAt: this.#startedAt, stoppedAt: this.#deps.now().toISOString() };
    this.#deps.send({ kind: "step", index, ...times, ...how });
  }
}
