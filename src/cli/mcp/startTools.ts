import * as z from "zod/mini";
import { LostStart } from "../../client/service/replyErrors.ts";
import { type CancelOutcome, cancelEach, myActiveRuns } from "../../client/start/cancelRuns.ts";
import { type StartOutcome, startRun } from "../../client/start/startRun.ts";
import { describeError } from "../../contract/errors.ts";
import { timeLimit } from "../../contract/limits.ts";
import { givenInputsSchema } from "../../contract/pipelines.ts";
import type { Run, StartRequest } from "../../contract/run.ts";
import { isActive } from "../../contract/runStatus.ts";
import { filesNamed } from "../../project/pipelineFiles.ts";
import { replaceControlCharacters } from "../../text/controlCharacters.ts";
import { english, limitText } from "../../text/refusalText.ts";
import { checkPipelines, pipelineNames } from "../run/namedPipelines.ts";
import { agentTool, type Call } from "./agentTool.ts";
import { nameInput, runIdInput, runLine, upTo } from "./readTools.ts";
import {
  type AgentQuota,
  agentRunSchema,
  described,
  mostSteps,
  refusalSchema,
  type StartRefusal,
  type ToolOutcome,
} from "./results.ts";

/** Shorter than for other calls: if the reply doesn't come, finding the run takes some more seconds. */
const startSeconds = 30;

const stepSchema = z.object({ name: z.string(), type: z.string() });

const inputSchema = z.strictObject({
  inputs: z.optional(
    described("values of its inputs by their names, as list_pipelines declares them", givenInputsSchema),
  ),
  pipeline: described("its name, as list_pipelines says it", nameInput),
  timeLimitSeconds: z.optional(
    described(
      "when the run is stopped, if it still runs then; the pipeline's own limit if left out",
      upTo(timeLimit.atMost),
    ),
  ),
});

export const startRunTool = agentTool({
  name: "start_run",
  title: "Start a run",
  description:
    "Starts one run of a pipeline, which runs what its file says now: programs, requests, statements. It uses one of the day's runs, whatever comes of it. Answers at once: with the run and its steps, or with why there is none and what to do next. Call wait_for_run then; never call this in a loop.",
  // An agent may have just written the file, so a client should ask the person first.
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
  input: inputSchema,
  facts: z.object({
    run: agentRunSchema,
    steps: described(`what it runs, in this order; the first ${mostSteps}`, z.array(stepSchema)),
    refusal: refusalSchema,
  }),
  seconds: startSeconds,
  act: (input, call) => call.session.guard.oneAtATime(() => start(input, call)),
});

async function start(
  { pipeline: named, timeLimitSeconds, inputs }: z.infer<typeof inputSchema>,
  call: Call,
): Promise<ToolOutcome<object>> {
  const { session, tool, signal } = call;
  signal.throwIfAborted();
  const { guard } = session;
  const known = guard.known();
  // A known refusal needs no request, so the quota isn't read for it either.
  if (known !== undefined) return refused(named, known, session.lastQuota);
  const { project, root } = await session.project(signal);
  const [pipeline = named] = await pipelineNames(tool, [named], root);
  const client = await tool.connect();
  const problem = await checkPipelines(tool, [pipeline], { client, project, root });
  if (problem !== undefined) throw problem;
  if (session.options.reserve) {
    const { seen, quota } = await session.look(signal);
    const reserved = guard.reserved(seen);
    if (reserved !== undefined) return refused(pipeline, reserved, quota);
  }
  const steps = root === undefined ? [] : await stepsOf(root, pipeline);
  const request: StartRequest = { pipeline, project, timeLimitSeconds, inputs };
  const outcome = await started(request, root, call);
  if (outcome.kind === "started") {
    const { quota } = await session.look(signal).catch(() => ({ quota: undefined }));
    return begun(outcome.run, steps, quota);
  }
  const { seen, quota } = await session.look(signal);
  const [holder] = quota.holders ?? [];
  const refusal = outcome.refusal.scope === "free-day" ? guard.usedUp(seen) : guard.taken(seen, holder);
  return refused(pipeline, refusal, quota);
}

/** The steps in the file now. Empty for a file that isn't here, or that is broken, which the service reports. */
async function stepsOf(root: string, pipeline: string): Promise<z.infer<typeof stepSchema>[]> {
  const [file] = await filesNamed(root, pipeline);
  if (file?.parsed.kind !== "valid") return [];
  return file.parsed.pipeline.steps.map(({ name, type }) => ({ name, type }));
}

/** Sends one start request. A run that exists, or may exist, counts, even if the call's cancellation cancels it. */
async function started(request: StartRequest, root: string | undefined, call: Call): Promise<StartOutcome> {
  const { session, agent, signal } = call;
  const { guard } = session;
  const cancel = (run: Run): void => {
    guard.count();
    // Ignored: a run that can't be cancelled ends at its time limit.
    session.ask((client) => client.cancel(run.runId, session.ended), session.ended).catch(() => undefined);
  };
  const deps = {
    root,
    agent,
    waitSeconds: 0,
    onWaiting: () => {},
    onUnwanted: cancel,
    onDoubt: () => guard.count(),
    reconnect: session.reconnect,
  };
  try {
    const outcome = await startRun(request, { ...deps, client: await session.connected(signal) }, signal);
    if (outcome.kind === "started") guard.count();
    return outcome;
  } catch (error) {
    if (error instanceof LostStart) guard.count();
    throw error;
  }
}

function begun(
  run: Run,
  steps: readonly z.infer<typeof stepSchema>[],
  quota: AgentQuota | undefined,
): ToolOutcome<object> {
  const first = steps.slice(0, mostSteps);
  const lines = first.map(({ name, type }, index) =>
    replaceControlCharacters(`  ${index + 1}. ${name} (${type})`),
  );
  const next = `Call wait_for_run with run-id ${run.runId}.`;
  const more = first.length === steps.length ? [] : [`  and ${steps.length - first.length} more`];
  const text = [runLine(run), ...lines, ...more, next].join("\n");
  return { kind: "done", facts: { run, steps: first }, text, quota };
}

function refused(pipeline: string, refusal: StartRefusal, quota: AgentQuota | undefined): ToolOutcome<never> {
  const name = replaceControlCharacters(pipeline);
  return { kind: "refused", refusal, text: `${name} was not started: ${whyText(refusal)}`, quota };
}

function whyText({ scope }: StartRefusal): string {
  switch (scope) {
    case "org":
    case "free-day":
      return limitText({ refusal: { scope }, waitedSeconds: 0 }, undefined, english);
    case "session":
      return "this server has started as many runs as --max-runs allows.";
    case "reserve":
      return "what is left of today's runs is for people (--reserve).";
  }
}

/** Cancelling doesn't undo what a run has done, and has no effect on a stopped run. */
const cancels = {
  readOnlyHint: false,
  destructiveHint: true,
  idempotentHint: true,
  openWorldHint: false,
} as const;

const cancelledSchema = z.object({ runId: z.string(), status: z.string() });

export const cancelRunTool = agentTool({
  name: "cancel_run",
  title: "Cancel a run",
  description:
    "Cancels a run. It holds its slot until its programs have ended, which wait_for_run waits for. The run stays counted among the day's.",
  annotations: cancels,
  input: z.strictObject({ runId: runIdInput }),
  facts: cancelledSchema,
  async act({ runId }, { session, signal }) {
    const outcome = await session.ask(async (client) => {
      const [only] = await cancelEach(client, [runId], signal);
      if (only?.kind !== "cancelled") throw only?.error;
      return only;
    }, signal);
    const { status } = outcome;
    return { kind: "done", facts: { runId, status }, text: cancelText([outcome]) };
  },
});

export const cancelMyRunsTool = agentTool({
  name: "cancel_my_runs",
  title: "Cancel my runs",
  description:
    "Cancels every active run that the key in use started: yours, and those that the person started with the same key. Prefer cancel_run for a run of your own.",
  annotations: cancels,
  input: z.strictObject({}),
  facts: z.object({
    runs: z.array(cancelledSchema),
    failed: z.array(z.object({ runId: z.string(), message: z.string() })),
  }),
  async act(_, { session, signal }) {
    const outcomes = await session.ask(async (client) => {
      const { mine } = await myActiveRuns(client, signal);
      const ids = mine.map(({ runId }) => runId);
      return cancelEach(client, ids, signal);
    }, signal);
    const runs = outcomes.flatMap((each) =>
      each.kind === "cancelled" ? [{ runId: each.runId, status: each.status }] : [],
    );
    const failed = outcomes.flatMap((each) =>
      each.kind === "failed" ? [{ runId: each.runId, message: describeError(each.error) }] : [],
    );
    return { kind: "done", facts: { runs, failed }, text: cancelText(outcomes) };
  },
});

function cancelText(outcomes: readonly CancelOutcome[]): string {
  if (outcomes.length === 0) return "The key in use has no active run.";
  return outcomes
    .map((each) => {
      if (each.kind === "failed") return `${each.runId} was not cancelled: ${describeError(each.error)}`;
      const isStill = isActive({ status: each.status });
      return `${each.runId} ${each.status}${isStill ? ": wait_for_run waits until it has given up its slot" : ""}.`;
    })
    .join("\n");
}
