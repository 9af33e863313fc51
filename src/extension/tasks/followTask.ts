import { t } from "@vscode/l10n";
import { cancelSurely } from "../../client/cancelSurely.ts";
import { Deadline } from "../../client/deadline.ts";
import { followRun } from "../../client/followRun.ts";
import type { Reconnect } from "../../client/foundAnew.ts";
import { AbsentEndpoint } from "../../client/http/replyError.ts";
import type { ServiceClient } from "../../client/http/serviceClient.ts";
import { isInWork, nameOf, type Run } from "../../contract/run.ts";
import { visible } from "../../contract/visible.ts";
import { TaskLog } from "./taskLog.ts";
import { look, type TaskScreen } from "./taskScreen.ts";
import { TaskStory } from "./taskStory.ts";
import type { Stops } from "./taskTerminal.ts";

/** How long the next entry of a log may take once its run has stopped, in seconds: the log was complete by then. */
const restOfLogWithin = 10;
/** How long the log of a step may come after the news of its end, in milliseconds. */
const logIsLateBy = 300;

/**
 * Follows a run to its end and prints it with its log. An interrupt cancels it, and its place is waited for (contract:
 * "The command-line tool").
 * @returns the stopped run; undefined where the service doesn't tell how it ends.
 * @throws PipelineError when the service stays away, or the run can't be cancelled; the reason of `stops.leaving`.
 */
export async function followTask(
  client: ServiceClient,
  started: Run,
  deps: { readonly screen: TaskScreen; readonly stops: Stops; readonly reconnect: Reconnect | undefined },
): Promise<Run | undefined> {
  const { screen, stops } = deps;
  let service = client;
  const find = deps.reconnect;
  const reconnect: Reconnect | undefined =
    find &&
    (async (signal) => {
      service = await find(signal);
      return service;
    });
  const story = new TaskStory(screen, started);
  const stop = new AbortController();
  const leave = (): void => stop.abort(stops.leaving.reason);
  const cancel = (): void => {
    screen.line(
      look.dim(t("Cancelling. Ctrl+C once more leaves at once, without waiting for the run's end.")),
    );
    cancelSurely(() => service, reconnect, started.runId, stop.signal).catch((error: unknown) =>
      stop.abort(error),
    );
  };
  stops.leaving.addEventListener("abort", leave, { once: true });
  if (stops.interrupted.aborted) cancel();
  else stops.interrupted.addEventListener("abort", cancel, { once: true });
  const logOver = new AbortController();
  using patience = new Deadline(client.clock, logOver.signal);
  let hasEnded = false;
  const log = new TaskLog(client, story, screen, reconnect, () => {
    if (hasEnded) patience.arm(restOfLogWithin);
  });
  const reading = log.read(patience.signal);
  try {
    const onChange = (run: Run): void => {
      story.seen(run);
      // At the run's end the whole log is awaited anyway.
      const settle = () => isInWork(story.run) && story.settle();
      client.clock.sleep(logIsLateBy, stop.signal).then(settle, () => undefined);
    };
    story.seen(await followRun(client, started, onChange, stop.signal, reconnect));
    hasEnded = true;
    patience.arm(restOfLogWithin);
    await reading;
    story.end();
    return story.run;
  } catch (error) {
    if (!(error instanceof AbsentEndpoint)) throw error;
    const { host } = client.baseUrl;
    screen.line(
      look.dim(t("{0} was started. {1} does not tell how it ends.", visible(nameOf(started)), host)),
    );
    return undefined;
  } finally {
    stops.leaving.removeEventListener("abort", leave);
    stops.interrupted.removeEventListener("abort", cancel);
    stop.abort();
    logOver.abort();
    await reading;
  }
}
