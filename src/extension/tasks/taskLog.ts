import { t } from "@vscode/l10n";
import { DeadlinePassed } from "../../client/deadline.ts";
import { followLog } from "../../client/followLog.ts";
import type { Reconnect } from "../../client/foundAnew.ts";
import type { ServiceClient } from "../../client/http/serviceClient.ts";
import { type LogLine, LogLines } from "../../client/logLines.ts";
import { describeError, PipelineError } from "../../contract/errors.ts";
import type { LogEntry } from "../../contract/logEntry.ts";
import { look, type TaskScreen } from "./taskScreen.ts";
import type { TaskStory } from "./taskStory.ts";

/** The log of a run, read to its end. One that can't be read is told; the run goes on. */
export class TaskLog {
  readonly #client: ServiceClient;
  readonly #story: TaskStory;
  readonly #screen: TaskScreen;
  readonly #reconnect: Reconnect | undefined;
  readonly #onEntry: () => void;
  readonly #apiKeys: Set<string>;
  readonly #lines: LogLines;
  /** One line after the other, since a step's name may have to be asked for. */
  #printing: Promise<void> = Promise.resolve();
  #asked: number | undefined;

  constructor(
    client: ServiceClient,
    story: TaskStory,
    screen: TaskScreen,
    reconnect: Reconnect | undefined,
    onEntry: () => void,
  ) {
    this.#client = client;
    this.#story = story;
    this.#screen = screen;
    this.#reconnect = reconnect;
    this.#onEntry = onEntry;
    this.#apiKeys = new Set([client.apiKey]);
    this.#lines = new LogLines({ hasColor: true, apiKeys: this.#apiKeys });
  }

  /** Resolves when the log is complete, or can't be read. @param signal ends it early, quietly. */
  async read(signal: AbortSignal): Promise<void> {
    let problem: string | undefined;
    const add = async (entry: LogEntry): Promise<void> => {
      this.#onEntry();
      this.#print(this.#lines.add(entry), signal);
      await this.#printing;
    };
    const find = this.#reconnect;
    const reconnect: Reconnect = async (signal) => {
      const found = (await find?.(signal)) ?? this.#client;
      this.#apiKeys.add(found.apiKey);
      return found;
    };
    const onGap = (first: number, last: number): void => {
      this.#screen.line(look.dim(t("The service left out the log's entries {0} to {1}.", first, last)));
    };
    try {
      const options = { follow: true, reconnect, onGap };
      await followLog(this.#client, this.#story.run.runId, options, add, signal);
    } catch (error) {
      if (signal.reason instanceof DeadlinePassed) problem = t("The rest of the log did not come in time.");
      // A service without logs has none to be missed.
      else if (!signal.aborted && !hasNoLogs(error)) {
        problem = t("The log can't be read: {0}", describeError(error));
      }
    }
    this.#print(this.#lines.rest(), signal);
    await this.#printing;
    if (problem !== undefined) this.#screen.line(look.dim(problem));
  }

  #print(lines: readonly LogLine[], signal: AbortSignal): void {
    if (lines.length === 0) return;
    this.#printing = this.#printing.then(async () => {
      for (const line of lines) {
        await this.#learnName(line.stepIndex, signal);
        this.#story.line(line);
      }
    });
  }

  /** A line may come before the news of its step. A service that doesn't tell is not asked for each line. */
  async #learnName(stepIndex: number, signal: AbortSignal): Promise<void> {
    if (this.#story.knows(stepIndex) || this.#asked === stepIndex) return;
    this.#asked = stepIndex;
    try {
      this.#story.seen(await this.#client.run(this.#story.run.runId, signal));
    } catch {
      // Then the step is told by its number.
    }
  }
}

/** Of a run that was just started, no log was removed. */
function hasNoLogs(error: unknown): boolean {
  return error instanceof PipelineError && (error.type === "not-supported" || error.type === "not-found");
}
