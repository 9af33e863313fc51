import { listRuns } from "../../client/follow/listRuns.ts";
import type { ServiceClient } from "../../client/service/client.ts";
import { errorTypes, exitCodes, PipelineError } from "../../contract/errors.ts";
import { runCommand, shellWord } from "../../contract/refusal.ts";
import type { Artifact, Run, RunStep } from "../../contract/run.ts";
import { nameOf, reasonText, startedBy, toldFailure } from "../../contract/run.ts";
import { isActive } from "../../contract/runStatus.ts";
import { commitText } from "../../text/changes.ts";
import { sizeText } from "../../text/size.ts";
import { duration, tookText } from "../../text/time.ts";
import { stepNotes } from "../../text/timeline.ts";
import { table } from "../output/table.ts";
import { reportedRun } from "../report/reportedRuns.ts";
import { Reports, type WantedReports } from "../report/reports.ts";
import { statusLook, stepLook } from "../terminal/marks.ts";
import type { Terminal } from "../terminal/terminal.ts";
import type { Tool } from "../tool.ts";
import { ago, took } from "./listRuns.ts";

interface ShowOptions extends WantedReports {
  /** Whether the exit code reports that the run has not succeeded. */
  readonly exitStatus?: boolean;
}

/** `pipeline runs show [id]`: shows a run, by default the caller's newest. */
export async function showRun(tool: Tool, options: ShowOptions, named?: string): Promise<number> {
  const { output, interrupted } = tool;
  const reports = await Reports.open(tool, options, true);
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
    const sheet = new RunSheet(client, run, output.out, me);
    output.result("runs show", { ...run }, output.json ? "" : sheet.text());
  }
  if (!isReported) return errorTypes.internal.exitCode;
  return options.exitStatus && run.status !== "succeeded" ? exitCodes.runDidNotSucceed : exitCodes.done;
}

/** The text for people. */
class RunSheet {
  readonly #client: ServiceClient;
  readonly #run: Run;
  readonly #terminal: Terminal;

  readonly #me: string | undefined;

  /** @param me the id of the reader's key, where it is known. */
  constructor(client: ServiceClient, run: Run, terminal: Terminal, me: string | undefined) {
    this.#me = me;
    this.#client = client;
    this.#run = run;
    this.#terminal = terminal;
  }

  text(): string {
    const { steps = [], artifacts = [], runId } = this.#run;
    const { style } = this.#terminal;
    return [
      this.#title(),
      table(this.#facts().map(([name, value]) => [style.dim(name), value])),
      ...this.#values("Inputs", this.#run.inputs),
      ...this.#values("Outputs", this.#run.outputs),
      ...(steps.length === 0 ? [] : ["", "Steps", ...steps.flatMap((step) => this.#step(step))]),
      ...(artifacts.length === 0 ? [] : ["", "Kept", this.#artifacts(artifacts)]),
      "",
      style.dim(`\`${runCommand("log", runId)}\` prints its log${this.#diffHint()}.`),
    ].join("\n");
  }

  /** Only a service that tells the commit may tell what changed. */
  #diffHint(): string {
    const { runId, commit, status } = this.#run;
    const isAsked = commit !== undefined && !isActive(this.#run) && status !== "succeeded";
    return isAsked ? `, \`${runCommand("diff", runId)}\` shows what changed since it last succeeded` : "";
  }

  #title(): string {
    const { status } = this.#run;
    const { mark, paint } = statusLook(status, this.#terminal);
    return `${paint(mark)} ${this.#terminal.style.bold(nameOf(this.#run))} ${paint(status)}`;
  }

  /** Unknown facts have no line. */
  #facts(): [string, string][] {
    const { runId, project, agent, runner, commit, createdAt, stoppedAt, timeLimitSeconds } = this.#run;
    const me = this.#me;
    // A failed step's message stands under the step.
    const reason = toldFailure(this.#run) === undefined ? reasonText(this.#run, me) : undefined;
    const now = this.#client.clock.now();
    const facts: [string, string | undefined][] = [
      ["run", runId],
      ["project", project],
      ["started", createdAt === undefined ? undefined : `${createdAt} (${ago(createdAt, now)})`],
      ["stopped", stoppedAt],
      ["took", took(this.#run, now)],
      ["time limit", timeLimitSeconds === undefined ? undefined : duration(timeLimitSeconds * 1000)],
      ["started by", startedBy(this.#run, me)],
      ["agent", agent],
      ["runner", runner],
      ["commit", commit && commitText(commit)],
      ["reason", reason === undefined ? undefined : indented(reason, 12)],
    ];
    return facts.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]));
  }

  #values(title: string, values: Readonly<Record<string, unknown>> = {}): string[] {
    const rows = Object.entries(values).map(([name, value]) => {
      const text = typeof value === "string" ? value : JSON.stringify(value);
      return `  ${this.#terminal.style.dim(`${name}:`)} ${indented(text, 4)}`;
    });
    return rows.length === 0 ? [] : ["", title, ...rows];
  }

  #step(step: RunStep): string[] {
    const { name, type, status, startedAt, stoppedAt, message } = step;
    const { mark, paint } = stepLook(step, this.#run, this.#terminal);
    const took = tookText(startedAt, stoppedAt);
    const lasted = took === undefined ? "" : ` in ${took}`;
    const isPlain = status === "succeeded" || (status === "running" && isActive(this.#run));
    const line = `  ${paint(mark)} ${name} (${[type, ...stepNotes(step)].join(", ")}) ${paint(status)}${lasted}`;
    return message === undefined || message === "" || isPlain
      ? [line]
      : [line, `      ${indented(message, 6)}`];
  }

  #artifacts(artifacts: readonly Artifact[]): string {
    const { runId, steps = [] } = this.#run;
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
    const lines = [table(rows), this.#terminal.style.dim(how)];
    if (shared === undefined) return lines.join("\n");
    const step = nameOfStep(shared);
    const isOnly = steps.filter(({ name }) => name === step).length === 1;
    const words = [shared.name, "--step", isOnly ? step : String(shared.stepIndex + 1)].map(shellWord);
    const howOfOne = `  \`${save} ${words.join(" ")}\` saves that of one step.`;
    return [...lines, this.#terminal.style.dim(howOfOne)].join("\n");
  }
}

function indented(text: string, width: number): string {
  return text.replaceAll("\n", `\n${" ".repeat(width)}`);
}

/**
 * The named id, or else that of the newest run of the caller's key.
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
