import { findProject, registerProject } from "../../client/project.ts";
import type { ServiceClient } from "../../client/service/client.ts";
import { describeError, errorTypes, exitCodes } from "../../contract/errors.ts";
import { runCommand, startOptions } from "../../contract/refusal.ts";
import { nameOf, type StartRequest } from "../../contract/run.ts";
import { systemClock } from "../../machine/clock.ts";
import { english, refusalLines } from "../../text/refusalText.ts";
import { failureOf } from "../output/output.ts";
import { type ReportedRun, reportedRun } from "../report/reportedRuns.ts";
import { openReports, type WantedReports } from "../report/reports.ts";
import { type LiveLines, liveLines } from "../terminal/terminal.ts";
import type { Tool } from "../tool.ts";
import { Batch, type Outcome } from "./batch.ts";
import { conclude, describeOutcome, doubtOf, lookAtRuns, orgNumbers } from "./conclude.ts";
import { checkPipelines, wantedPipelines } from "./namedPipelines.ts";
import { inputsOfRuns, inputValuesOf } from "./runInputs.ts";

/** The options of `pipeline run`, as `commands/run.ts` declares them. */
export interface RunFlags extends WantedReports {
  readonly tag?: readonly string[];
  readonly parallel?: number;
  readonly detach?: boolean;
  readonly log?: boolean;
  readonly project?: string;
  /** In seconds. */
  readonly timeLimit?: number;
  readonly from?: string;
  /** Each as `name=value`. */
  readonly input?: readonly string[];
  readonly dryRun?: true;
  readonly connect?: true;
}

/** The start request of every pipeline, except its name. */
function requestOf({ project, timeLimit, from }: RunFlags): Omit<StartRequest, "pipeline"> {
  return { project, timeLimitSeconds: timeLimit, fromStep: from };
}

/**
 * `pipeline run <pipeline>…`: starts a run of each and follows it to its end (contract: "The command-line tool"). Reports are
 * written whatever the outcome, but not after a second Ctrl-C.
 */
export async function runPipelines(tool: Tool, named: readonly string[], flags: RunFlags): Promise<number> {
  const reports = await openReports(tool, flags, false);
  const { outcomes, end } = await runEach(tool, named, flags).catch((error: unknown): Ended => {
    const outcomes = (flags.tag ?? named).map((pipeline) => notStarted(pipeline, error));
    return { outcomes, end: () => Promise.reject(error) };
  });
  const reported: ReportedRun[] = [];
  if (reports !== undefined) for (const each of outcomes) reported.push(await reportedOutcome(tool, each));
  const isReported = (await reports?.write(reported)) ?? true;
  const exitCode = await end();
  return !isReported && exitCode === exitCodes.done ? errorTypes.internal.exitCode : exitCode;
}

interface Ended {
  readonly outcomes: readonly Outcome[];
  /** Prints the result. @returns the exit code. */
  readonly end: () => Promise<number>;
}

function notStarted(pipeline: string, error: unknown): Outcome {
  return { kind: "not-started", pipeline, error };
}

async function runEach(tool: Tool, named: readonly string[], flags: RunFlags): Promise<Ended> {
  const { output, interrupted } = tool;
  const given = await inputValuesOf(flags.input, tool);
  using live = liveLines(output, systemClock);
  const client = await connectLive(tool, live);
  const began = client.clock.monotonic();
  const here = await registerLocalProject(tool, client, flags.project);
  const where = { client, ...here };
  const pipelines = await wantedPipelines(tool, where, named, flags.tag);
  const problem = await checkPipelines(tool, pipelines, where);
  if (problem !== undefined) {
    const { failure, exitCode } = failureOf(problem);
    const end = async () => {
      output.failure("run", failure, { runs: [] });
      return exitCode;
    };
    return { outcomes: pipelines.map((pipeline) => notStarted(pipeline, problem)), end };
  }
  const inputs = await inputsOfRuns(tool, pipelines, given, where);
  const parallel = await grantedParallel(tool, client, flags.parallel);
  const isOneOfSeveral = pipelines.length > 1;
  const { project, root } = here;
  const batch = new Batch(tool, client, {
    request: { ...requestOf(flags), project },
    root,
    inputs,
    parallel,
    live,
    isOneOfSeveral,
    detach: flags.detach === true,
    // With a single pipeline, standard output holds its log or the refusal, never both.
    log: flags.log ? (output.json || isOneOfSeveral ? "error" : "output") : undefined,
    retryOptions: startOptions(requestOf(flags)),
  });
  tool.leaving.addEventListener("abort", () => reportInterrupt(tool, batch), { once: true });
  const outcomes = await batch.run(pipelines);
  const took = client.clock.monotonic() - began;
  const isSummedUp = isOneOfSeveral && !output.isQuiet && outcomes.some((outcome) => "run" in outcome);
  const isUsedUp = outcomes.some(
    (outcome) => outcome.kind === "refused" && outcome.start.refusal.scope === "free-day",
  );
  // A `free-day` refusal names the org's limit.
  const org = isSummedUp || isUsedUp ? await orgNumbers(client, tool.leaving) : undefined;
  const end = () => conclude(outcomes, { output, root, wasInterrupted: interrupted.aborted, took, org });
  return { outcomes, end };
}

/** Connects; shows a live line if that takes noticeably long, as the start of the embedded service may. */
async function connectLive(tool: Tool, live: LiveLines): Promise<ServiceClient> {
  const began = systemClock.monotonic();
  const owner = {};
  live.set(owner, (spinner) =>
    systemClock.monotonic() - began < noticeableMilliseconds ? "" : `${spinner} connecting to the service`,
  );
  try {
    return await tool.connect(tool.interrupted, "asked");
  } finally {
    live.remove(owner);
  }
}

const noticeableMilliseconds = 300;

/** Registers the project with this machine's service. @returns its name and folder; outside a project, the given name. */
export async function registerLocalProject(
  tool: Tool,
  client: ServiceClient,
  name: string | undefined,
): Promise<{ readonly project: string | undefined; readonly root: string | undefined }> {
  const found = await findProject(tool.folder);
  if (found === undefined) return { project: name, root: undefined };
  const project = { ...found, name: name ?? found.name };
  const known = await registerProject(client, project, tool.interrupted);
  return { project: known.name, root: known.root };
}

/** The requested number, at most the org's limit, with a warning if the limit is lower. */
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

/** Prints what a second Ctrl-C leaves behind. */
function reportInterrupt({ output }: Tool, batch: Batch): void {
  const [active, starting] = [[...batch.active], [...batch.starting]];
  const left = [
    ...active.map((run) => `${nameOf(run)} may still be running (${run.runId})`),
    ...starting.map(doubtOf),
  ];
  const [first] = active;
  const lookup =
    starting.length > 0 ? `${lookAtRuns}.` : `\`${runCommand("show", first?.runId ?? "")}\` shows it.`;
  const next = left.length === 0 ? "" : lookup;
  const message = left.length === 0 ? "interrupted" : `interrupted: ${left.join("; ")}.`;
  output.failure("run", { type: "interrupted", message, next }, { runs: active });
}

/** What the reports say about a pipeline. */
async function reportedOutcome(tool: Tool, outcome: Outcome): Promise<ReportedRun> {
  // Not ended by the first Ctrl-C: the log of the cancelled run is still read.
  const { leaving } = tool;
  const withoutRun = (pipeline: string, problem: string): ReportedRun => {
    return { pipeline, run: undefined, problem, logs: new Map() };
  };
  switch (outcome.kind) {
    case "run":
      return outcome.isFollowed
        ? reportedRun(tool, outcome.run, leaving)
        : reportedRun(tool, outcome.run, leaving, "The service doesn't report how the run ends.");
    case "follow-failed":
      return reportedRun(tool, outcome.run, leaving, describeOutcome(outcome));
    case "refused": {
      const { start } = outcome;
      const { reason } = refusalLines([start], { now: Date.now(), runsPerDay: undefined }, english);
      return withoutRun(start.pipeline, reason);
    }
    case "not-started": {
      const { pipeline, error } = outcome;
      return withoutRun(pipeline, error === undefined ? describeOutcome(outcome) : describeError(error));
    }
    case "abandoned":
      return withoutRun(outcome.pipeline, describeOutcome(outcome));
  }
}
