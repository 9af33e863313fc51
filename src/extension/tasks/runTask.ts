import { t } from "@vscode/l10n";
import { Output, reportFault } from "../../cli/output/output.ts";
import { Batch } from "../../cli/run/batch.ts";
import { conclude } from "../../cli/run/conclude.ts";
import { liveLines } from "../../cli/terminal/terminal.ts";
import type { RunTerminal } from "../../cli/tool.ts";
import { findProject } from "../../client/project.ts";
import { exitCodes, PipelineError } from "../../contract/errors.ts";
import { refusalReport, startOptions } from "../../contract/refusal.ts";
import { anySignal } from "../../machine/anySignal.ts";
import { systemClock } from "../../machine/clock.ts";
import { english, refusalLines } from "../../text/refusalText.ts";
import type { RunAnnouncer } from "../announce/runAnnouncer.ts";
import type { Target } from "../keys/serviceChoice.ts";
import type { RunList } from "../session/runList.ts";
import type { Session } from "../session/session.ts";
import { type ChooseStartDeps, chooseStart } from "../start/chooseStart.ts";
import { readStart } from "../start/runArgument.ts";
import { type OwnToolDeps, ownTool, runOwnTool, startsByTool } from "../start/startByOwnTool.ts";
import { reconnectTo } from "../start/startPipeline.ts";
import type { Waits } from "../start/waitNotice.ts";
import type { TaskIo } from "./taskTerminal.ts";

export interface RunTaskDeps extends OwnToolDeps, ChooseStartDeps {
  readonly session: Pick<Session, "connect" | "reconnect" | "noteChange" | "state">;
  readonly target: () => Target;
  readonly waits: Waits;
  readonly announcer: Pick<RunAnnouncer, "suppress">;
  readonly runs: Pick<RunList, "retain">;
}

/** The environment of the editor's terminal, whatever environment the editor was started in. */
const env = { TERM_PROGRAM: "vscode" };

/**
 * Runs a task like `pipeline run <name> --log`, with the window's connection to the service.
 * @param folder the task's folder, whose project is used unless the definition names another; undefined for a task of a workspace
 * or of the user, for which the window's first project with the pipeline is used.
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
  // The list reports which step of the file failed, see `failedSteps`.
  const listed = deps.runs.retain();
  try {
    return await run(definition, folder, io, output, deps);
  } catch (error) {
    return reportFault(output, "run", error, io.interrupted);
  } finally {
    listed.dispose();
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
  const { session, announcer, waits } = deps;
  const { pipeline, project } = readStart(definition);
  const stop = new AbortController();
  const interrupted = anySignal([io.interrupted, stop.signal]);
  const found = folder === undefined ? undefined : await findProject(folder);
  const own = project === undefined || project === found?.name ? found : undefined;
  const folders = own === undefined ? deps.folders : () => [own.root];
  const choosing = { ...deps, folders, signal: interrupted, takesFirst: true };
  // The service may know the folder's own project by another name.
  const given = own === undefined ? definition : { ...definition, project: undefined };
  const chosen = await chooseStart(choosing, t("Run Pipeline"), given);
  if (chosen === undefined) {
    output.note(t("Nothing was started: the inputs of {0} were not given.", pipeline));
    return exitCodes.interrupted;
  }
  const client = await session.connect(interrupted, "asked");
  if (client.environment !== undefined && chosen.project === undefined) throw noProject();
  const { pipeline: _, root, ...request } = chosen;
  const reconnect = reconnectTo(deps);
  const terminal: RunTerminal = {
    output,
    env,
    interrupted,
    leaving: io.leaving,
    unread: io.leaving,
    connect: async (signal = interrupted) => reconnect?.(signal) ?? client,
  };
  using live = liveLines(output, systemClock);
  const wait = waits.begin(chosen, () => stop.abort(new Error("the wait was stopped")));
  const batch = new Batch(terminal, client, {
    parallel: 1,
    detach: false,
    request,
    root,
    log: "output",
    live,
    isOneOfSeveral: false,
    retryOptions: startOptions({ ...request, project: undefined }),
    onWaiting: (secondsLeft, place) => wait.update(secondsLeft, place),
    onReply: () => {
      wait.end();
      session.noteChange(client, deps.signal);
    },
    // The run's end is shown in the terminal.
    onStarted: ({ runId }) => announcer.suppress(runId),
  });
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
  const { value } = session.state;
  const org = value.kind === "live" ? value.org : undefined;
  return conclude(outcomes, { output, root, wasInterrupted: interrupted.aborted, took: 0, org });
}

/** Thrown because this machine's own service would otherwise search all the projects that it knows. */
function noProject(): PipelineError {
  return new PipelineError("not-found", t("No folder of this window has a pipeline."), {
    next: t("A project's pipelines are the files pipelines/*.yaml in its folder."),
  });
}
