import { followRun } from "../../client/followRun.ts";
import type { ServiceClient } from "../../client/http/serviceClient.ts";
import { findProject, registerProject } from "../../client/project.ts";
import { startRun } from "../../client/startRun.ts";
import { waitSeconds } from "../../contract/limits.ts";
import { type RefusedStart, refusalReport } from "../../contract/refusal.ts";
import type { Run } from "../../contract/run.ts";
import { exitCodes } from "../exitCodes.ts";
import { type Failure, failureOf } from "../output.ts";
import { RunProgress } from "../runProgress.ts";
import type { Tool } from "../tool.ts";

export interface RunOptions {
  readonly parallel: number | undefined;
  readonly detach: boolean;
  readonly project: string | undefined;
  readonly timeLimitSeconds: number | undefined;
}

/** `pipeline run <pipeline>…`: starts a run of each and follows it until it stops (contract: "The command-line tool"). */
export async function runPipelines(
  tool: Tool,
  pipelines: readonly string[],
  options: RunOptions,
): Promise<number> {
  const client = await tool.connect();
  const project = await makeProjectKnown(tool, client, options.project);
  const parallel = await grantedParallel(tool, client, options.parallel);
  const batch = new Batch(tool, client, { ...options, project });
  const waiting = pipelines.values();
  await Promise.all(
    Array.from({ length: Math.min(parallel, pipelines.length) }, async () => {
      for (const pipeline of waiting) await batch.run(pipeline);
    }),
  );
  return batch.conclude();
}

/** The project's name, told to this machine's service with its folder; undefined where there is no project here. */
async function makeProjectKnown(
  tool: Tool,
  client: ServiceClient,
  name: string | undefined,
): Promise<string | undefined> {
  const found = await findProject(tool.folder);
  if (found === undefined) return name;
  const project = { ...found, name: name ?? found.name };
  return (await registerProject(client, project, tool.interrupted)).name;
}

/** The lower of what is asked for and what the org may, with a warning where they differ. */
async function grantedParallel(
  tool: Tool,
  client: ServiceClient,
  asked: number | undefined,
): Promise<number> {
  if (asked === undefined || asked <= 1) return 1;
  const { tier, limits } = await client.org(tool.interrupted);
  if (asked <= limits.parallelRuns) return asked;
  const granted = Math.max(1, limits.parallelRuns);
  tool.output.warn(
    `--parallel ${asked} is more than the org's limit (tier ${tier}): ${granted} at the same time.`,
  );
  return granted;
}

/** The runs of one call of the tool, and what became of each. */
class Batch {
  readonly #tool: Tool;
  readonly #client: ServiceClient;
  readonly #options: RunOptions;
  readonly #runs: Run[] = [];
  readonly #refused: RefusedStart[] = [];
  #fault: { readonly pipeline: string; readonly error: unknown } | undefined;

  constructor(tool: Tool, client: ServiceClient, options: RunOptions) {
    this.#tool = tool;
    this.#client = client;
    this.#options = options;
  }

  async run(pipeline: string): Promise<void> {
    if (this.#fault !== undefined || this.#tool.interrupted.aborted) return;
    try {
      const run = await this.#start(pipeline);
      if (run !== undefined) this.#runs.push(this.#options.detach ? run : await this.#follow(run));
    } catch (error) {
      // What other pipelines came to is still told.
      this.#fault ??= { pipeline, error };
    }
  }

  /** Tells what the runs came to, and what stopped the others: a limit comes first, then an interrupt, then a fault. */
  conclude(): number {
    const { output, interrupted } = this.#tool;
    const [first, ...others] = this.#refused;
    if (first !== undefined) {
      for (const run of this.#runs) output.note(`${run.pipeline}: ${run.runId} ${run.status}`);
      output.refusal(refusalReport(first, ...others));
      return exitCodes.refusedByLimit;
    }
    if (interrupted.aborted) {
      return this.#fail({ type: "interrupted", message: "interrupted", next: "" }, exitCodes.interrupted);
    }
    if (this.#fault !== undefined) {
      const { failure, exitCode } = failureOf(this.#fault.error);
      return this.#fail(failure, exitCode);
    }
    const bad = this.#runs.filter(({ status }) => status !== "succeeded");
    if (this.#options.detach || bad.length === 0) {
      output.result("run", { runs: this.#runs }, this.#lines());
      return exitCodes.done;
    }
    const message = bad.map(
      ({ pipeline, status, reason }) => `${pipeline} ${status}${reason ? `: ${reason}` : "."}`,
    );
    return this.#fail(
      { type: "run-failed", message: message.join("\n"), next: "" },
      exitCodes.runDidNotSucceed,
    );
  }

  /** A failure, with the runs that there were all the same. */
  #fail(failure: Failure, exitCode: number): number {
    const { output } = this.#tool;
    output.text(this.#lines());
    output.failure("run", failure, { runs: this.#runs });
    return exitCode;
  }

  #lines(): string {
    return this.#runs.map(({ runId, pipeline, status }) => `${runId} ${pipeline} ${status}`).join("\n");
  }

  async #start(pipeline: string): Promise<Run | undefined> {
    const { output, interrupted } = this.#tool;
    const { project, timeLimitSeconds } = this.#options;
    let told = false;
    const outcome = await startRun(
      {
        pipeline,
        ...(project === undefined ? {} : { project }),
        ...(timeLimitSeconds === undefined ? {} : { timeLimitSeconds }),
      },
      {
        client: this.#client,
        // Who has waited in vain once does not make the next pipeline wait as long again.
        patienceSeconds: this.#refused.length > 0 ? 0 : waitSeconds,
        onWaiting: (secondsLeft) => {
          if (!told)
            output.note(
              `${pipeline}: another run holds the org's place; waiting up to ${secondsLeft} s for it`,
            );
          told = true;
          output.passing(`${pipeline}: waiting for a place, ${secondsLeft} s left (Ctrl-C stops waiting)`);
        },
      },
      interrupted,
    );
    if (outcome.kind === "started") return outcome.run;
    this.#refused.push({ pipeline, refusal: outcome.refusal, waitedSeconds: outcome.waitedSeconds });
    return undefined;
  }

  /** Follows a run to its end. An interrupt cancels it, and its place is waited for. */
  async #follow(started: Run): Promise<Run> {
    const { output, interrupted } = this.#tool;
    const progress = new RunProgress(output, started);
    const cancel = () => {
      output.note(`${started.pipeline}: cancelling ${started.runId}; Ctrl-C again leaves at once`);
      this.#client.cancel(started.runId, new AbortController().signal).catch((error: unknown) => {
        this.#fault ??= { pipeline: started.pipeline, error };
      });
    };
    if (interrupted.aborted) cancel();
    interrupted.addEventListener("abort", cancel, { once: true });
    try {
      const ended = await followRun(
        this.#client,
        started.runId,
        (run) => progress.show(run),
        new AbortController().signal,
      );
      progress.end(ended);
      return ended;
    } finally {
      interrupted.removeEventListener("abort", cancel);
    }
  }
}
