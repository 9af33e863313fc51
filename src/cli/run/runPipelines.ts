import { findProject, registerProject } from "../../client/project.ts";
import type { ServiceClient } from "../../client/service/client.ts";
import { errorTypes, exitCodes } from "../../contract/errors.ts";
import { runCommand, startOptions } from "../../contract/refusal.ts";
import { nameOf, type StartRequest } from "../../contract/run.ts";
import { systemClock } from "../../machine/clock.ts";
import { failureOf } from "../output/output.ts";
import { openReports, type WantedReports } from "../report/reports.ts";
import { LiveLines } from "../terminal/liveLines.ts";
import type { Asking } from "../terminal/readSecret.ts";
import type { Tool } from "../tool.ts";
import { Batch, type Outcome } from "./batch.ts";
import { conclude, doubtOf, lookAtRuns, orgNumbers } from "./conclude.ts";
import { checkPipelines, localPipelines, pipelineNames, taggedPipelines } from "./namedPipelines.ts";
import { OutcomeReport } from "./outcomeReport.ts";
import type { LogDestination } from "./printLog.ts";
import { inputsOfRuns, inputValuesOf } from "./runInputs.ts";

export interface RunOptions {
  /** Instead of names: all pipelines that have one of them. */
  readonly tags: readonly string[] | undefined;
  readonly parallel: number | undefined;
  readonly detach: boolean;
  readonly log: boolean;
  readonly reports: WantedReports;
  /** What each start request says besides the pipeline; without a project, the folder's. */
  readonly request: Omit<StartRequest, "pipeline">;
  readonly inputs: readonly (readonly [name: string, text: string])[];
}

/**
 * `pipeline run <pipeline>…`: starts a run of each and follows it to its end (contract: "The command-line tool"). Reports are
 * written whatever comes of it, but not after a second Ctrl-C.
 */
export async function runPipelines(
  tool: Tool,
  named: readonly string[],
  options: RunOptions,
  asking: Asking,
): Promise<number> {
  const reports = await openReports(tool, options.reports, false);
  const report = new OutcomeReport(tool, reports);
  try {
    const exitCode = await runEach(tool, named, options, asking, report);
    return report.hasFailed && exitCode === exitCodes.done ? errorTypes.internal.exitCode : exitCode;
  } catch (error) {
    await report.write((options.tags ?? named).map((pipeline) => ({ kind: "not-started", pipeline, error })));
    throw error;
  }
}

async function runEach(
  tool: Tool,
  named: readonly string[],
  options: RunOptions,
  asking: Asking,
  report: OutcomeReport,
): Promise<number> {
  const { output, interrupted } = tool;
  const given = await inputValuesOf(options.inputs, tool);
  using live = new LiveLines(output, systemClock);
  const client = await connectLive(tool, live);
  const began = client.clock.monotonic();
  const { project, root } = await registerLocalProject(tool, client, options.request.project);
  const pipelines =
    options.tags === undefined
      ? await pipelineNames(tool, named, root)
      : taggedPipelines(
          root === undefined
            ? (await client.pipelines(project, interrupted)).pipelines
            : await localPipelines(root),
          options.tags,
        );
  const isOneOfSeveral = pipelines.length > 1;
  const problem = await checkPipelines(tool, client, pipelines, { project, root });
  if (problem !== undefined) {
    await report.write(pipelines.map((pipeline) => ({ kind: "not-started", pipeline, error: problem })));
    const { failure, exitCode } = failureOf(problem);
    output.failure("run", failure, { runs: [] });
    return exitCode;
  }
  const inputs = await inputsOfRuns(tool, pipelines, given, { client, project, root }, asking);
  const parallel = await grantedParallel(tool, client, options.parallel);
  const batch = new Batch(
    tool,
    client,
    {
      ...options,
      request: { ...options.request, project },
      root,
      inputs,
      parallel,
      log: options.log ? logDestination(tool, isOneOfSeveral) : undefined,
      retryOptions: startOptions(options.request),
    },
    { output, live, clock: client.clock, isOneOfSeveral },
  );
  const onLeaving = (): void => reportInterrupt(tool, batch);
  tool.leaving.addEventListener("abort", onLeaving, { once: true });
  try {
    const outcomes = await batch.run(pipelines);
    const took = client.clock.monotonic() - began;
    const isSummedUp = isOneOfSeveral && !output.isQuiet && outcomes.some((outcome) => "run" in outcome);
    // The reason of such a refusal names the org's limit.
    const org = isSummedUp || outcomes.some(isUsedUp) ? await orgNumbers(client, tool.leaving) : undefined;
    await report.write(outcomes);
    return await conclude(outcomes, { output, root, wasInterrupted: interrupted.aborted, took, org });
  } finally {
    tool.leaving.removeEventListener("abort", onLeaving);
  }
}

function isUsedUp(outcome: Outcome): boolean {
  return outcome.kind === "refused" && outcome.start.refusal.scope === "free-day";
}

/** Connects, with a live line where that takes noticeably long, as the start of the embedded service may. */
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

/** Registers the project with this machine's service. @returns its name and folder; without one here, the given name. */
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

/** The requested number, at most the org's limit, with a warning where that is lower. */
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

/** With a single pipeline, standard output holds its log or the refusal, never both. */
function logDestination({ output }: Tool, isOneOfSeveral: boolean): LogDestination {
  return { stream: output.json || isOneOfSeveral ? "error" : "output", isOneOfSeveral };
}

/** Prints what a second Ctrl-C leaves behind. */
function reportInterrupt({ output }: Tool, { active, starting }: Batch): void {
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
