import { join } from "node:path";
import { t } from "@vscode/l10n";
import { Output, reportFault } from "../../cli/output/output.ts";
import { Batch, type Outcome } from "../../cli/run/batch.ts";
import { conclude } from "../../cli/run/conclude.ts";
import { LiveLines } from "../../cli/terminal/liveLines.ts";
import type { RunTerminal } from "../../cli/tool.ts";
import { exitCodes, PipelineError } from "../../contract/errors.ts";
import { refusalReport, startOptions } from "../../contract/refusal.ts";
import type { Run } from "../../contract/run.ts";
import { failedStep } from "../../contract/runStatus.ts";
import { anySignal } from "../../machine/anySignal.ts";
import { systemClock } from "../../machine/clock.ts";
import { findStep } from "../../pipeline/editing/outline.ts";
import { formatProblem } from "../../pipeline/mistakes/problem.ts";
import { filesNamed } from "../../project/pipelineFiles.ts";
import { replaceControlCharacters } from "../../text/controlCharacters.ts";
import { english, refusalLines } from "../../text/refusalText.ts";
import type { RunAnnouncer } from "../announce/runAnnouncer.ts";
import { positionAt } from "../files/analyses.ts";
import { analysisOf } from "../files/fileProblems.ts";
import type { Target } from "../keys/target.ts";
import type { ProjectNames } from "../session/projectNames.ts";
import type { Session } from "../session/session.ts";
import { type AskInputsDeps, withInputs } from "../start/askInputs.ts";
import { listPipelines, localPipelines } from "../start/chooseStart.ts";
import type { LastUsed } from "../start/lastUsed.ts";
import { readStart } from "../start/runArgument.ts";
import { type OwnToolDeps, ownTool, runOwnTool, startsByTool } from "../start/startByOwnTool.ts";
import { reconnectTo } from "../start/startPipeline.ts";
import type { Waits } from "../start/waits.ts";
import { firstAndLastLine } from "../window/runText.ts";
import { projectOfTask } from "./taskDefinition.ts";
import type { TaskIo } from "./taskTerminal.ts";

export interface RunTaskDeps extends OwnToolDeps, AskInputsDeps {
  readonly session: Pick<Session, "connect" | "connectAnew" | "noteChange" | "state">;
  readonly target: () => Target;
  readonly waits: Waits;
  readonly announcer: Pick<RunAnnouncer, "suppress">;
  readonly lastUsed: Pick<LastUsed, "note" | "inputsOf" | "noteInputs">;
  readonly projectNames: Pick<ProjectNames, "register">;
  readonly isTrusted: () => boolean;
  /** Whether a file is open, and so marks its failed step itself. */
  readonly isOpen: (path: string) => boolean;
}

/** The editor's own terminal, whatever environment the editor was started in. */
const env = { TERM_PROGRAM: "vscode" };

/**
 * Runs a task as `pipeline run <name> --log` runs it, with the window's connection to the service.
 * @param folder the task's folder; see `projectOfTask`.
 * @returns the tool's exit code (contract: "The command-line tool"). Never rejects.
 */
export async function runTask(
  definition: object,
  folder: string | undefined,
  io: TaskIo,
  deps: RunTaskDeps,
): Promise<number> {
  const flags = { json: false, quiet: false, color: true };
  const output = new Output({ out: io.stream, err: io.stream, env, flags });
  try {
    return await run(definition, folder, io, output, deps);
  } catch (error) {
    return reportFault(output, "run", withoutMatches(error), io.interrupted);
  } finally {
    output.release();
  }
}

async function run(
  definition: object,
  folder: string | undefined,
  io: TaskIo,
  output: Output,
  deps: RunTaskDeps,
): Promise<number> {
  if (!deps.isTrusted()) throw notTrusted();
  const { session, announcer, waits } = deps;
  const asked = readStart(definition);
  const stop = new AbortController();
  const interrupted = anySignal([io.interrupted, stop.signal]);
  const client = await session.connect(interrupted, "asked");
  const found = await projectOfTask(asked, folder, deps.folders());
  const known = found && (await deps.projectNames.register(client, found));
  const { name: project = asked.project, root } = known ?? {};
  const entries = known
    ? await localPipelines([known], false)
    : // A service that lists none decides by itself.
      await listPipelines(client, project === undefined ? [] : [project], interrupted);
  const declared = entries.find((entry) => entry.name === asked.pipeline)?.inputs;
  const start = { ...asked, project };
  const complete = await withInputs(start, declared, "missing", { ...deps, signal: interrupted });
  if (complete === undefined) {
    output.note(t("Nothing was started: the inputs of {0} were not given.", asked.pipeline));
    return exitCodes.interrupted;
  }
  const { pipeline, ...request } = complete;
  if (project !== undefined) await deps.lastUsed.note(project, pipeline);

  const reconnect = reconnectTo(deps);
  const terminal: RunTerminal = {
    output,
    env,
    interrupted,
    leaving: io.leaving,
    unread: io.leaving,
    connect: async (signal = interrupted) => reconnect?.(signal) ?? client,
  };
  using live = new LiveLines(output, systemClock);
  const wait = waits.begin(complete, () => stop.abort(new Error("the wait was stopped")));
  const batch = new Batch(
    terminal,
    client,
    {
      parallel: 1,
      detach: false,
      request,
      root,
      log: { stream: "output", isOneOfSeveral: false },
      retryOptions: startOptions({ ...request, project: undefined }),
      onWaiting: (secondsLeft, place) => wait.update(secondsLeft, place),
      onReply: () => {
        wait.end();
        session.noteChange(client, deps.signal);
      },
      // Its end shows in the terminal.
      onStarted: ({ runId }) => announcer.suppress(runId),
    },
    { output, live, clock: client.clock, isOneOfSeveral: false },
  );
  const outcomes = await batch.run([pipeline]);
  const [outcome] = outcomes;
  if (outcome?.kind === "not-started" && startsByTool(outcome.error, deps)) {
    const tool = await ownTool(client, { ...request, root }, deps);
    output.note(`${pipeline}: run by ${tool.cliPath}`);
    const end = await runOwnTool({ ...tool, clock: client.clock }, pipeline, interrupted);
    if (end.kind === "done") {
      output.text(`${pipeline} succeeded`);
      return exitCodes.done;
    }
    const facts = { now: Date.now(), hints: end.hints };
    output.refusal(refusalReport(end.refused), refusalLines([end.refused], facts, english));
    return exitCodes.refusedByLimit;
  }
  const state = session.state.value;
  const exitCode = await conclude(outcomes.map(withoutMatch), {
    output,
    root,
    wasInterrupted: interrupted.aborted,
    took: 0,
    org: state.kind === "live" ? state.org : undefined,
  });
  if (outcome?.kind === "run" && root !== undefined) {
    const line = await failedPosition(outcome.run, root, folder, deps);
    if (line !== undefined) output.aside(replaceControlCharacters(line));
  }
  return exitCode;
}

/**
 * The failed step's position and message, as the problem matcher reads it; undefined if the file is not here or no longer
 * has the step. Of an open file it is indented, which the matcher ignores: the editor marks the step itself.
 * @param folder to which the problem matcher resolves paths; a file elsewhere is named in full.
 */
async function failedPosition(
  run: Run,
  root: string,
  folder: string | undefined,
  { isOpen }: Pick<RunTaskDeps, "isOpen">,
): Promise<string | undefined> {
  const failed = failedStep(run);
  if (failed === undefined || run.pipeline === undefined) return undefined;
  const [file] = await filesNamed(root, run.pipeline);
  if (file?.text === undefined) return undefined;
  const { outline, parsed, text } = analysisOf(file);
  const { step, index } = failed;
  const there = findStep(outline, parsed, { name: step.name, index });
  if (there === undefined) return undefined;
  const { line, character } = positionAt(text, there.span.start);
  const message = `${step.name}: ${firstAndLastLine(step.message ?? run.reason ?? run.status)}`;
  const whole = join(root, file.path);
  const position = { line: line + 1, column: character + 1, message };
  return `${isOpen(whole) ? "  " : ""}${formatProblem(root === folder ? file.path : whole, position)}`;
}

function withoutMatch(outcome: Outcome): Outcome {
  return outcome.kind === "not-started" ? { ...outcome, error: withoutMatches(outcome.error) } : outcome;
}

/** An error whose file positions are indented, which the problem matcher ignores: the editor marks those itself. */
function withoutMatches(error: unknown): unknown {
  if (!(error instanceof PipelineError) || error.type !== "invalid-request") return error;
  const message = error.message.replaceAll(/^(?=.*:\d+:\d+: )/gm, "  ");
  return new PipelineError(error.type, message, { next: error.next, cause: error });
}

function notTrusted(): PipelineError {
  return new PipelineError(
    "usage",
    t("Pipelines of a workspace that isn't trusted are not run: their steps run programs."),
    { next: t("Trust the workspace first.") },
  );
}
