import { t } from "@vscode/l10n";
import { type LocalProject, registerProject } from "../../client/project.ts";
import { describeError, errorTypes, exitCodes, PipelineError } from "../../contract/errors.ts";
import type { Run } from "../../contract/run.ts";
import { replaceControlCharacters, sanitizeForTerminal } from "../../text/controlCharacters.ts";
import type { RunAnnouncer } from "../announce/runAnnouncer.ts";
import type { Target } from "../keys/target.ts";
import type { Session } from "../session/session.ts";
import { runsPerDayOf } from "../session/sessionState.ts";
import type { LastUsed } from "../start/lastUsed.ts";
import { startsByTool } from "../start/startByOwnTool.ts";
import { reconnectTo } from "../start/startPipeline.ts";
import type { Waits } from "../start/waits.ts";
import { failedStepLine, followTask } from "./followTask.ts";
import { printRefusal, runTaskByTool, startTask, type TaskStart } from "./startTask.ts";
import { type PipelineTask, projectOfTask, readTaskDefinition } from "./taskDefinition.ts";
import { style, type TaskIo } from "./taskTerminal.ts";

export interface RunTaskDeps {
  readonly session: Pick<Session, "connect" | "refresh" | "state">;
  readonly target: () => Target;
  readonly waits: Waits;
  readonly announcer: Pick<RunAnnouncer, "suppress">;
  readonly lastUsed: Pick<LastUsed, "note">;
  /** The window's folders on this machine. */
  readonly folders: () => readonly string[];
  readonly isTrusted: () => boolean;
  /** The service's own tool, for a service that starts runs in no other way; undefined if the setting is empty. */
  readonly cliPath: () => string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Whether a file is open, and so marks its failed step itself. */
  readonly isOpen: (path: string) => boolean;
  /** Aborted when the extension ends. */
  readonly signal: AbortSignal;
}

/**
 * Runs a task and prints the wait, the run with its log, or the refusal with its hints.
 * @param folder the task's folder; see `projectOfTask`.
 * @returns the exit code, as the tool's (contract: "The command-line tool"). Never rejects.
 */
export async function runTask(
  definition: unknown,
  folder: string | undefined,
  { screen, signals }: TaskIo,
  deps: RunTaskDeps,
): Promise<number> {
  try {
    if (!deps.isTrusted()) throw notTrusted();
    return await run(readTaskDefinition(definition), folder, { screen, signals }, deps);
  } catch (error) {
    screen.clear();
    if (signals.interrupted.aborted) {
      screen.line(style.dim(t("Interrupted.")));
      return exitCodes.interrupted;
    }
    screen.line(problemText(error));
    return error instanceof PipelineError ? errorTypes[error.type].exitCode : errorTypes.internal.exitCode;
  }
}

async function run(
  task: PipelineTask,
  folder: string | undefined,
  place: TaskIo,
  deps: RunTaskDeps,
): Promise<number> {
  const { session, announcer } = deps;
  const { screen, signals } = place;
  const { interrupted } = signals;
  const client = await session.connect(interrupted);
  const reconnect = reconnectTo(deps);
  const found = await projectOfTask(task, folder, deps.folders());
  const project = found && (await registerProject(client, found, interrupted));
  const projectName = project?.name ?? task.project;
  const request = {
    pipeline: task.pipeline,
    ...(projectName === undefined ? {} : { project: projectName }),
    ...(task.timeLimitSeconds === undefined ? {} : { timeLimitSeconds: task.timeLimitSeconds }),
  };
  let started: TaskStart;
  try {
    started = await startTask(
      request,
      { client, root: project?.root, reconnect, waits: deps.waits, screen },
      interrupted,
    );
  } catch (error) {
    if (!startsByTool(error, deps)) throw error;
    return await runTaskByTool(task, client, project?.root, place, deps);
  } finally {
    // Where no event tells of the new count, it is asked for; a failing question shows in the status bar by itself.
    session.refresh(client, deps.signal).catch(() => {});
  }
  switch (started.kind) {
    case "refused":
      return printRefusal(started.refused, screen, { runsPerDay: runsPerDayOf(session.state.value) });
    case "abandoned":
      screen.line(style.dim(givenUp(task.pipeline, started.isInDoubt)));
      return exitCodes.interrupted;
    case "run": {
      if (projectName !== undefined) await deps.lastUsed.note(projectName, task.pipeline);
      // Its end shows in the terminal.
      announcer.suppress(started.run.runId);
      const ended = await followTask(client, started.run, { screen, signals, reconnect });
      if (ended !== undefined && project !== undefined)
        await printFailedPosition(ended, project, folder, place, deps);
      if (interrupted.aborted) return exitCodes.interrupted;
      return ended === undefined || ended.status === "succeeded"
        ? exitCodes.done
        : exitCodes.runDidNotSucceed;
    }
    default:
      return started satisfies never;
  }
}

/** Prints the failed step's position: a link in the terminal, and one of the editor's problems. */
async function printFailedPosition(
  ended: Run,
  { root }: LocalProject,
  folder: string | undefined,
  { screen }: TaskIo,
  { isOpen }: Pick<RunTaskDeps, "isOpen">,
): Promise<void> {
  const failed = await failedStepLine(ended, root, folder);
  if (failed === undefined) return;
  screen.line(`${isOpen(failed.file) ? unmatched : ""}${replaceControlCharacters(failed.line)}`);
}

/** Before a line that the problem matcher ignores, since the editor has its problem already. */
const unmatched = "  ";

function givenUp(pipeline: string, isInDoubt: boolean): string {
  const name = replaceControlCharacters(pipeline);
  return isInDoubt
    ? t("It is unknown whether a run of {0} was started.", name)
    : t("{0} stopped waiting, and no run was started.", name);
}

function notTrusted(): PipelineError {
  return new PipelineError(
    "usage",
    t("Pipelines of a workspace that isn't trusted are not run: their steps run programs."),
    {
      next: t("Trust the workspace first."),
    },
  );
}

/** The error in red, except lines with a file position, which the terminal turns into links. */
function problemText(error: unknown): string {
  return sanitizeForTerminal(describeError(error), false)
    .split("\n")
    .map((line) => (/:\d+:\d+: /.test(line) ? `${unmatched}${line}` : style.bad(line)))
    .join("\n");
}
