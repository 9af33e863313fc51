import { listRuns } from "../../client/follow/listRuns.ts";
import type { ServiceClient } from "../../client/service/client.ts";
import { errorTypes, exitCodes, PipelineError } from "../../contract/errors.ts";
import { runCommand, shellWord } from "../../contract/refusal.ts";
import {
  type Artifact,
  failureInReason,
  nameOf,
  type Run,
  type RunStep,
  reasonText,
  startedBy,
} from "../../contract/run.ts";
import { isActive } from "../../contract/runStatus.ts";
import type { Pipeline } from "../../pipeline/pipeline.ts";
import { changeNotes, commitText, ranText } from "../../text/changes.ts";
import { type Failure, failuresOf } from "../../text/failureLines.ts";
import { sizeText } from "../../text/size.ts";
import { duration, tookText } from "../../text/time.ts";
import { stepNotes } from "../../text/timeline.ts";
import { reportedRun } from "../report/reportedRuns.ts";
import { openReports, type WantedReports } from "../report/reports.ts";
import { statusLook, stepLook, type Terminal, table } from "../terminal/terminal.ts";
import type { Tool } from "../tool.ts";
import { ago, took } from "./listRuns.ts";

interface ShowOptions extends WantedReports {
  readonly exitStatus?: boolean;
}

/** `pipeline runs show [id]`: shows a run, by default the caller's newest. */
export async function showRun(tool: Tool, options: ShowOptions, named?: string): Promise<number> {
  const { output, interrupted } = tool;
  const reports = await openReports(tool, options, true);
  const client = await tool.connect();
  const isForPeople = output.out.isTerminal && !output.json;
  const [run, me] = await Promise.all([
    namedOrLatest(client, named, interrupted).then((id) => client.run(id, interrupted)),
    isForPeople
      ? client.org(interrupted).then(
          ({ actor }) => actor,
          () => undefined,
        )
      : undefined,
  ]);
  const isReported =
    reports === undefined || (await reports.write([await reportedRun(tool, run, interrupted)]));
  if (reports?.isPrinted !== true) {
    const sheet = { run, terminal: output.out, me, now: client.clock.now() };
    output.result("runs show", { ...run }, output.json ? "" : sheetText(sheet));
  }
  if (!isReported) return errorTypes.internal.exitCode;
  return options.exitStatus && run.status !== "succeeded" ? exitCodes.runDidNotSucceed : exitCodes.done;
}

/** The content of the text for people. */
interface Sheet {
  readonly run: Run;
  readonly terminal: Terminal;
  /** The id of the reader's key, if known. */
  readonly me: string | undefined;
  /** Milliseconds since 1970. */
  readonly now: number;
}

function sheetText(sheet: Sheet): string {
  const { run, terminal } = sheet;
  const { steps = [], artifacts = [], inputs, outputs, runId } = run;
  const { style } = terminal;
  const { mark, paint } = statusLook(run.status, terminal);
  return [
    `${paint(mark)} ${style.bold(nameOf(run))} ${paint(run.status)}`,
    table(factsOf(sheet).map(([name, value]) => [style.dim(name), value])),
    ...valueLines("Inputs", inputs, terminal),
    ...valueLines("Outputs", outputs, terminal),
    ...(steps.length === 0 ? [] : ["", "Steps", ...steps.flatMap((step) => stepLines(step, sheet))]),
    ...(artifacts.length === 0 ? [] : ["", "Kept", artifactsText(artifacts, sheet)]),
    "",
    style.dim(`\`${runCommand("log", runId)}\` prints its log${diffHint(run)}.`),
  ].join("\n");
}

/** Only a service that sends the commit may know what changed. */
function diffHint(run: Run): string {
  const { runId, commit, status } = run;
  const isAsked = commit !== undefined && !isActive(run) && status !== "succeeded";
  return isAsked ? `, \`${runCommand("diff", runId)}\` shows what changed since it last succeeded` : "";
}

/** The known facts. */
function factsOf({ run, me, now }: Sheet): [string, string][] {
  const { runId, project, agent, runner, commit, createdAt, stoppedAt, timeLimitSeconds } = run;
  // A failed step's message is shown below the step.
  const reason = failureInReason(run) === undefined ? reasonText(run, me) : undefined;
  const facts: [string, string | undefined][] = [
    ["run", runId],
    ["project", project],
    ["started", createdAt === undefined ? undefined : `${createdAt} (${ago(createdAt, now)})`],
    ["stopped", stoppedAt],
    ["took", took(run, now)],
    ["time limit", timeLimitSeconds === undefined ? undefined : duration(timeLimitSeconds * 1000)],
    ["started by", startedBy(run, me)],
    ["agent", agent],
    ["runner", runner],
    ["commit", commit && commitText(commit)],
    ["reason", reason === undefined ? undefined : indented(reason, 12)],
  ];
  return facts.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]));
}

function valueLines(
  title: string,
  values: Readonly<Record<string, unknown>> = {},
  { style }: Terminal,
): string[] {
  const rows = Object.entries(values).map(([name, value]) => {
    const text = typeof value === "string" ? value : JSON.stringify(value);
    return `  ${style.dim(`${name}:`)} ${indented(text, 4)}`;
  });
  return rows.length === 0 ? [] : ["", title, ...rows];
}

function stepLines(step: RunStep, { run, terminal }: Sheet): string[] {
  const { name, type, status, startedAt, stoppedAt, message } = step;
  const { mark, paint } = stepLook(step, run, terminal);
  const took = tookText(startedAt, stoppedAt);
  const lasted = took === undefined ? "" : ` in ${took}`;
  const isPlain = status === "succeeded" || (status === "running" && isActive(run));
  const line = `  ${paint(mark)} ${name} (${[type, ...stepNotes(step)].join(", ")}) ${paint(status)}${lasted}`;
  return message === undefined || message === "" || isPlain
    ? [line]
    : [line, `      ${indented(message, 6)}`];
}

function artifactsText(artifacts: readonly Artifact[], { run, terminal }: Sheet): string {
  const { runId, steps = [] } = run;
  const nameOfStep = ({ stepIndex }: Artifact) => steps[stepIndex]?.name ?? `step ${stepIndex + 1}`;
  const rows = artifacts.map((artifact) => [
    `  ${artifact.name}`,
    nameOfStep(artifact),
    artifact.mediaType,
    sizeText(artifact.bytes),
  ]);
  const save = runCommand("download", runId);
  const how = `  \`${save}\` saves them, \`${runCommand("page", runId)}\` prints a link that shows them.`;
  const isShared = ({ name, stepIndex }: Artifact) =>
    artifacts.some((other) => other.name === name && other.stepIndex !== stepIndex);
  const shared = artifacts.findLast(isShared);
  const lines = [table(rows), terminal.style.dim(how)];
  if (shared === undefined) return lines.join("\n");
  const step = nameOfStep(shared);
  const isOnly = steps.filter(({ name }) => name === step).length === 1;
  const words = [shared.name, "--step", isOnly ? step : String(shared.stepIndex + 1)].map(shellWord);
  const howOfOne = `  \`${save} ${words.join(" ")}\` saves that of one step.`;
  return [...lines, terminal.style.dim(howOfOne)].join("\n");
}

function indented(text: string, width: number): string {
  return text.replaceAll("\n", `\n${" ".repeat(width)}`);
}

/**
 * `pipeline runs diff [id]`: shows what changed since the pipeline last succeeded, for the caller's newest run by default.
 * @throws as `ServiceClient.run` and `ServiceClient.changes`.
 */
export async function showChanges(tool: Tool, _: object, named?: string): Promise<void> {
  const { output, interrupted } = tool;
  const client = await tool.connect();
  const runId = await namedOrLatest(client, named, interrupted);
  const [run, changes] = await Promise.all([
    client.run(runId, interrupted),
    client.changes(runId, interrupted),
  ]);
  const { lastPassed, diffs = {} } = changes;
  const { style } = output.out;
  const looks: Readonly<Record<string, (text: string) => string>> = {
    "+": style.good,
    "-": style.bad,
    "@": style.dim,
  };
  const since =
    lastPassed === undefined
      ? []
      : [
          `Since ${nameOf(run)} last succeeded: ${lastPassed.runId}, ${ago(lastPassed.createdAt, client.clock.now())}`,
        ];
  const files = Object.entries(diffs).flatMap(([path, diff]) => [
    "",
    style.bold(path),
    ...diff.split("\n").map((line) => (looks[line.charAt(0)] ?? String)(line)),
  ]);
  const text = [...since, ...changeNotes(run, changes), ...files].join("\n");
  const { commit, inputs } = run;
  output.result(
    "runs diff",
    { runId, ...(commit && { commit }), ...(inputs && { inputs }), ...changes },
    text,
  );
}

/** `pipeline runs file [id]`: prints a run's pipeline file as it ran, and the files that it includes. */
export async function showFile(tool: Tool, _: object, named?: string): Promise<void> {
  const { output, interrupted } = tool;
  const client = await tool.connect();
  const runId = await namedOrLatest(client, named, interrupted);
  const ran = await client.ranPipeline(runId, interrupted);
  output.result("runs file", { runId, ...ran }, ranText(ran).trimEnd());
}

/**
 * The named id, else that of the newest run of the caller's key.
 * @throws PipelineError `not-found` if there is none; as `ServiceClient.org` and `listRuns`.
 */
export async function namedOrLatest(
  client: ServiceClient,
  runId: string | undefined,
  signal: AbortSignal,
): Promise<string> {
  if (runId !== undefined) return runId;
  const { actor: me } = await client.org(signal);
  const { runs } = await listRuns(client, { statuses: [], me, limit: 1 }, signal);
  const [latest] = runs;
  if (latest !== undefined) return latest.runId;
  throw new PipelineError("not-found", "Your key has started no run yet.", {
    next: "`pipeline runs list` shows the org's runs.",
  });
}

export type Steps = ReturnType<typeof stepsOf>;

export function stepsOf(client: ServiceClient, runId: string, signal: AbortSignal) {
  let run: Run | undefined;
  /** The steps of its pipeline file, once requested. */
  let ran: ReturnType<typeof ranSteps> | undefined;
  /** The last requested step, so that an unknown one isn't requested again for each of its lines. */
  let asked = -1;

  const names = (): readonly string[] => run?.steps?.map(({ name }) => name) ?? [];
  /** Requests the names of all steps so far. */
  const all = async (): Promise<readonly string[]> => {
    run = await client.run(runId, signal).catch(() => run);
    return names();
  };
  /** @returns undefined if the service doesn't list the step. */
  const nameOf = async (stepIndex: number): Promise<string | undefined> => {
    const known = names()[stepIndex];
    if (known !== undefined || asked === stepIndex) return known;
    asked = stepIndex;
    return (await all())[stepIndex];
  };
  /** Whether the step at an index has this name, else this number, counted from 1, else this id. */
  const isMeant = async (stepIndex: number, meant: string): Promise<boolean> => {
    const name = await nameOf(stepIndex);
    if (name === meant) return true;
    if (names().includes(meant)) return false;
    if (/^\d+$/.test(meant)) return meant === String(stepIndex + 1);
    ran ??= ranSteps(client, runId, signal);
    return (await ran)[stepIndex]?.id === meant;
  };
  /** Selects what belongs to the meant step; everything if no step is named. */
  const select = async <Of extends { readonly stepIndex: number }>(
    among: readonly Of[],
    meant: string | undefined,
  ): Promise<Of[]> => {
    if (meant === undefined) return [...among];
    const areMeant = await Promise.all(among.map(({ stepIndex }) => isMeant(stepIndex, meant)));
    return among.filter((_, index) => areMeant[index]);
  };
  return {
    nameOf,
    isMeant,
    select,
    async failures(): Promise<Failure[]> {
      await all();
      return run === undefined ? [] : failuresOf(run);
    },
    /** @throws PipelineError `not-found` if the run has no such step. */
    async require(meant: string): Promise<void> {
      const told = await all();
      const indexes = told.map((_, stepIndex) => ({ stepIndex }));
      if ((await select(indexes, meant)).length > 0) return;
      const next = told.length === 0 ? "It has told of no step yet." : `Its steps are: ${told.join(", ")}.`;
      throw new PipelineError("not-found", `The run has no step \`${meant}\`.`, { next });
    },
  };
}

/** A run's steps with their ids, from its pipeline file; empty if the service doesn't keep the file. */
export async function ranSteps(
  client: ServiceClient,
  runId: string,
  signal: AbortSignal,
): Promise<Pipeline["steps"]> {
  const ran = await client.ranPipeline(runId, signal).catch(() => undefined);
  if (ran === undefined) return [];
  const { parsePipeline } = await import("../../pipeline/parsePipeline.ts");
  const parsed = parsePipeline(ran.texts[ran.path] ?? "", ran.path, (path) => {
    const text = ran.texts[path];
    return text === undefined ? undefined : { kind: "read", text };
  });
  return parsed.kind === "valid" ? parsed.pipeline.steps : [];
}
