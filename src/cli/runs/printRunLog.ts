import { followLog } from "../../client/follow/followLog.ts";
import type { ServiceClient } from "../../client/service/client.ts";
import { exitCodes, PipelineError } from "../../contract/errors.ts";
import type { LogEntry } from "../../contract/log.ts";
import type { Run } from "../../contract/run.ts";
import { isActive } from "../../contract/runStatus.ts";
import type { Tool } from "../tool.ts";
import { EntryPrinter, LinePrinter, type LogPrinter, RawPrinter } from "./runLogPrinter.ts";
import { namedOrLatest } from "./showRun.ts";

interface LogOptions {
  readonly follow: boolean;
  /** Only this step, by name or number. */
  readonly step: string | undefined;
  /** Only this stream. */
  readonly stream: string | undefined;
  readonly timestamps: boolean;
  /** Only the last lines of the current log; with JSON, entries. */
  readonly tail: number | undefined;
  /** Without changes for the terminal. */
  readonly raw: boolean;
  /** One JSON object a line for each entry. */
  readonly ndjson: boolean;
  /** Whether the exit code reports that the run has not succeeded. */
  readonly exitStatus: boolean;
}

/**
 * `pipeline runs log [id]`: prints the log of a run, by default the caller's newest. `--follow` prints until the run stops,
 * across lost connections and restarts of the service.
 * @throws PipelineError `usage` for options that exclude each other; as `followLog`.
 */
export async function printRunLog(
  tool: Tool,
  named: string | undefined,
  options: LogOptions,
): Promise<number> {
  checkOptions(tool, options);
  const ends = AbortSignal.any([tool.interrupted, tool.unread]);
  try {
    return await print(tool, named, options, ends);
  } catch (error) {
    // A reader that stops early (`| head`) is no error.
    if (tool.unread.aborted && !tool.interrupted.aborted) return exitCodes.done;
    throw error;
  }
}

async function print(
  tool: Tool,
  named: string | undefined,
  options: LogOptions,
  signal: AbortSignal,
): Promise<number> {
  const { output } = tool;
  const client = await tool.connect();
  const runId = await namedOrLatest(client, named, signal);
  const steps = new StepNames(client, runId, signal);
  const apiKeys = new Set([client.apiKey]);
  const printer = printerOf(tool, runId, steps, apiKeys, options);
  let after = 0;
  let hasPrinted = false;
  let isBroken = false;
  const onEntry = async (entry: LogEntry): Promise<void> => {
    isBroken = false;
    after = entry.sequence;
    if (options.stream !== undefined && entry.stream !== options.stream) return;
    if (options.step !== undefined && !(await steps.isOf(entry, options.step))) return;
    hasPrinted = true;
    await printer.add(entry);
    await output.drained(signal);
  };
  const read = (follow: boolean) =>
    followLog(
      client,
      runId,
      {
        after,
        follow,
        reconnect: async () => {
          const found = await tool.connect();
          apiKeys.add(found.apiKey);
          return found;
        },
        onBroken: ({ message }) => {
          if (!isBroken) output.note(`pipeline: ${message} Asking again for the rest of the log.`);
          isBroken = true;
        },
        onGap: (first, last) => output.warn(`the service left out the log's entries ${first} to ${last}.`),
      },
      onEntry,
      signal,
    );

  let end = options.follow && options.tail === undefined ? undefined : await read(false);
  if (options.follow && (end === undefined || isActive(end))) {
    await printer.stopHolding();
    end = await read(true);
  }
  signal.throwIfAborted();
  if (!hasPrinted && options.step !== undefined) await requireStep(steps, options.step);
  await printer.end(end?.status);
  if (!output.json && !options.follow && (end === undefined || isActive(end))) {
    output.note("The run is still running; `--follow` also prints what comes next.");
  } else if (!hasPrinted) output.note("There is nothing in the log.");
  return options.exitStatus && end?.status !== "succeeded" ? exitCodes.runDidNotSucceed : exitCodes.done;
}

function printerOf(
  { output }: Tool,
  runId: string,
  steps: StepNames,
  apiKeys: ReadonlySet<string>,
  { tail, raw, ndjson, timestamps }: LogOptions,
): LogPrinter {
  if (output.json || ndjson) return new EntryPrinter(output, runId, tail);
  if (raw) return new RawPrinter(output, apiKeys);
  return new LinePrinter(output, steps.nameOf, { hasTimes: timestamps, tail, apiKeys });
}

function checkOptions({ output }: Tool, { raw, ndjson, timestamps, tail, stream }: LogOptions): void {
  const forms = [output.json && "--json", ndjson && "--ndjson", raw && "--raw"].filter(
    (form) => form !== false,
  );
  if (forms.length > 1) throw usage(`${forms.join(" and ")} exclude each other.`);
  const [form] = forms;
  if (timestamps && form !== undefined) throw usage(`--timestamps is for lines; ${form} has none.`);
  if (raw && stream === "note") throw usage("--raw is what the programs wrote, and notes are none of it.");
  if (raw && tail !== undefined) throw usage("--tail counts lines; --raw has none.");
  if (raw && output.out.isTerminal) {
    throw new PipelineError("usage", "--raw would let the log drive this terminal.", {
      next: "Send it to a file or another program: `pipeline runs log --raw > run.log`.",
    });
  }
}

async function requireStep(steps: StepNames, meant: string): Promise<void> {
  const names = await steps.all();
  const isThere = names.includes(meant) || (/^[1-9]\d{0,3}$/.test(meant) && Number(meant) <= names.length);
  if (isThere) return;
  const known = names.length === 0 ? "It has told of no step yet." : `Its steps are: ${names.join(", ")}.`;
  throw new PipelineError("not-found", `The run has no step \`${meant}\`.`, { next: known });
}

function usage(message: string): PipelineError {
  return new PipelineError("usage", message, { next: "See `pipeline runs log --help`." });
}

/** The names of a run's steps, which the service lists as they start. */
class StepNames {
  readonly #client: ServiceClient;
  readonly #runId: string;
  readonly #signal: AbortSignal;
  #names: readonly string[] = [];
  /** The last requested step, so that an unknown one isn't requested for each of its lines. */
  #asked = -1;

  constructor(client: ServiceClient, runId: string, signal: AbortSignal) {
    this.#client = client;
    this.#runId = runId;
    this.#signal = signal;
  }

  /** @returns undefined where the service doesn't list the step. */
  readonly nameOf = async (stepIndex: number): Promise<string | undefined> => {
    const known = this.#names[stepIndex];
    if (known !== undefined || this.#asked === stepIndex) return known;
    this.#asked = stepIndex;
    await this.all();
    return this.#names[stepIndex];
  };

  /** Requests the names of all steps so far. */
  async all(): Promise<readonly string[]> {
    const run: Run | undefined = await this.#client.run(this.#runId, this.#signal).catch(() => undefined);
    this.#names = run?.steps?.map(({ name }) => name) ?? this.#names;
    return this.#names;
  }

  /** Whether an entry belongs to the step with this name, or else this number, counted from 1. */
  async isOf({ stepIndex }: LogEntry, meant: string): Promise<boolean> {
    const name = await this.nameOf(stepIndex);
    if (name === meant) return true;
    return !this.#names.includes(meant) && meant === String(stepIndex + 1);
  }
}
