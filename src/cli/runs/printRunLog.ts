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
  /** Only this step's, by its name or its number. */
  readonly step: string | undefined;
  /** Only this stream's. */
  readonly stream: string | undefined;
  readonly timestamps: boolean;
  /** Only the last lines of what is there now; with JSON, entries. */
  readonly tail: number | undefined;
  /** As the programs wrote it. */
  readonly raw: boolean;
  /** An entry a line, as JSON. */
  readonly ndjson: boolean;
  /** Whether the exit code tells that the run has not succeeded. */
  readonly exitStatus: boolean;
}

/**
 * `pipeline runs log [id]`: the log of a run, of the caller's newest one when none is named; with `--follow` until the run
 * stops, over breaks of the connection and restarts of the service.
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
    // Who reads no more of it has seen enough.
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
  let isTold = false;
  let isBroken = false;
  const onEntry = async (entry: LogEntry): Promise<void> => {
    isBroken = false;
    after = entry.sequence;
    if (options.stream !== undefined && entry.stream !== options.stream) return;
    if (options.step !== undefined && !(await steps.isOf(entry, options.step))) return;
    isTold = true;
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
    await printer.letGo();
    end = await read(true);
  }
  signal.throwIfAborted();
  if (!isTold && options.step !== undefined) await requireStep(steps, options.step);
  await printer.end(end?.status);
  if (!output.json && !options.follow && (end === undefined || isActive(end))) {
    output.note("The run is in work; `--follow` prints what comes as well.");
  } else if (!isTold) output.note("There is nothing in the log.");
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

/** What the steps of a run are called. A run in work gets to know its steps one after the other. */
class StepNames {
  readonly #client: ServiceClient;
  readonly #runId: string;
  readonly #signal: AbortSignal;
  #names: readonly string[] = [];
  /** The step of the last question: a service that doesn't know it is not asked for each of its lines. */
  #asked = -1;

  constructor(client: ServiceClient, runId: string, signal: AbortSignal) {
    this.#client = client;
    this.#runId = runId;
    this.#signal = signal;
  }

  /** @returns undefined where the service doesn't tell. */
  readonly nameOf = async (stepIndex: number): Promise<string | undefined> => {
    const known = this.#names[stepIndex];
    if (known !== undefined || this.#asked === stepIndex) return known;
    this.#asked = stepIndex;
    await this.all();
    return this.#names[stepIndex];
  };

  /** The names of the steps that there are by now. */
  async all(): Promise<readonly string[]> {
    const run: Run | undefined = await this.#client.run(this.#runId, this.#signal).catch(() => undefined);
    this.#names = run?.steps?.map(({ name }) => name) ?? this.#names;
    return this.#names;
  }

  /** Whether an entry is of the step that a person means: by its name, else by its number, counted from 1. */
  async isOf({ stepIndex }: LogEntry, meant: string): Promise<boolean> {
    const name = await this.nameOf(stepIndex);
    if (name === meant) return true;
    return !this.#names.includes(meant) && meant === String(stepIndex + 1);
  }
}
