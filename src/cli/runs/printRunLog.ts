import { followLog } from "../../client/follow/followLog.ts";
import { listRuns } from "../../client/follow/listRuns.ts";
import { exitCodes, PipelineError } from "../../contract/errors.ts";
import type { LogEntry } from "../../contract/log.ts";
import { isActive } from "../../contract/runStatus.ts";
import { anySignal } from "../../machine/anySignal.ts";
import { readTextExpectation } from "../../pipeline/file/expectation.ts";
import { PatternFault, searchFor } from "../../runner/output/textSearch.ts";
import type { Failure } from "../../text/failureLines.ts";
import { statusText } from "../terminal/terminal.ts";
import type { Tool } from "../tool.ts";
import { ago } from "./listRuns.ts";
import { entryPrinter, type LogPrinter, linePrinter, rawPrinter } from "./runLogPrinter.ts";
import { namedOrLatest, type Steps, stepsOf } from "./showRun.ts";

interface LogOptions extends LineSelection {
  readonly follow?: boolean;
  readonly pipeline?: string;
  readonly last?: number;
  readonly raw?: boolean;
  readonly ndjson?: boolean;
  readonly exitStatus?: boolean;
}

/** Which lines of a log are printed, and how. */
interface LineSelection {
  readonly step?: string;
  readonly stream?: string;
  readonly timestamps?: boolean;
  /** Counts entries for `--json` and `--ndjson`. */
  readonly tail?: number;
  readonly grep?: string;
}

/**
 * `pipeline runs log [id]`: prints the log of a run, by default the caller's newest. `--follow` prints until the run stops,
 * across lost connections and restarts of the service. With `--pipeline` and `--grep` it searches the logs of a pipeline's last
 * runs.
 * @throws PipelineError `usage` for options that exclude each other; as `followLog`.
 */
export async function printRunLog(tool: Tool, options: LogOptions, named?: string): Promise<number> {
  checkOptions(tool, named, options);
  const grep = options.grep === undefined ? undefined : searchOf(options.grep);
  const ends = anySignal([tool.interrupted, tool.unread]);
  try {
    if (options.pipeline === undefined) return await print(tool, named, options, grep, ends);
    return await searchLogs(tool, options.pipeline, options, grep, ends);
  } catch (error) {
    // A reader that stops early (`| head`) isn't an error.
    if (tool.unread.aborted && !tool.interrupted.aborted) return exitCodes.done;
    throw error;
  }
}

async function print(
  tool: Tool,
  named: string | undefined,
  options: LogOptions,
  grep: Search | undefined,
  signal: AbortSignal,
): Promise<number> {
  const { output } = tool;
  const client = await tool.connect();
  const runId = await namedOrLatest(client, named, signal);
  const steps = stepsOf(client, runId, signal);
  const apiKeys = new Set([client.apiKey]);
  const printer = printerOf(tool, runId, steps, apiKeys, options, grep);
  let after = 0;
  let hasPrinted = false;
  let isBroken = false;
  const onEntry = async (entry: LogEntry): Promise<void> => {
    isBroken = false;
    after = entry.sequence;
    if (!(await isSelected(entry, options, steps))) return;
    hasPrinted = true;
    await printer.add(entry);
    await output.drained(signal);
  };
  const { follow = false } = options;
  const read = (isFollowed: boolean) =>
    followLog(
      client,
      runId,
      {
        after,
        follow: isFollowed,
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

  let end = follow && options.tail === undefined ? undefined : await read(false);
  if (follow && (end === undefined || isActive(end))) {
    await printer.stopHolding();
    end = await read(true);
  }
  signal.throwIfAborted();
  if (!hasPrinted && options.step !== undefined) await steps.require(options.step);
  const hasLines = !output.json && !options.ndjson && !options.raw;
  const failures = hasLines ? await selectedFailures(options, steps) : [];
  hasPrinted ||= failures.length > 0;
  await printer.end(end?.status, failures);
  if (!output.json && !follow && (end === undefined || isActive(end))) {
    output.note("The run is still running; `--follow` also prints what comes next.");
  } else if (!hasPrinted) output.note("There is nothing in the log.");
  else if (grep?.hasFound === false) output.note("No line of the log matches.");
  return options.exitStatus && end?.status !== "succeeded" ? exitCodes.runDidNotSucceed : exitCodes.done;
}

const mostSearched = 20;

/** Prints the matching lines in the logs of a pipeline's last runs, newest run first. */
async function searchLogs(
  { output, connect }: Tool,
  pipeline: string,
  { last = mostSearched, ...options }: LogOptions,
  grep: Search | undefined,
  signal: AbortSignal,
): Promise<number> {
  const client = await connect();
  const { runs } = await listRuns(client, { statuses: [], pipeline, limit: last }, signal);
  let removed = 0;
  for (const run of runs) {
    const { runId, createdAt } = run;
    const when = createdAt === undefined ? "" : `, ${ago(createdAt, client.clock.now())}`;
    const steps = stepsOf(client, runId, signal);
    const printer = linePrinter(output, steps.nameOf, {
      ...{ hasTimes: options.timestamps, tail: options.tail, apiKeys: new Set([client.apiKey]) },
      grep: grep?.find,
      of: { runId, heading: `${output.out.style.bold(runId)} ${statusText(run.status, output.out)}${when}` },
    });
    const onEntry = async (entry: LogEntry): Promise<void> => {
      if (!(await isSelected(entry, options, steps))) return;
      await printer.add(entry);
      await output.drained(signal);
    };
    const onGap = (first: number, end: number) =>
      output.warn(`the service left out the entries ${first} to ${end} of the log of ${runId}.`);
    try {
      await followLog(client, runId, { follow: false, onGap }, onEntry, signal);
    } catch (error) {
      if (!(error instanceof PipelineError && error.type === "not-found")) throw error;
      removed += 1;
    }
    await printer.end(run.status, await selectedFailures(options, steps));
  }
  if (removed > 0) output.note(removed === 1 ? "1 log was removed." : `${removed} logs were removed.`);
  if (runs.length === 0) output.note("There is no run of this pipeline.");
  else if (grep?.hasFound === false) output.note("No line matches.");
  return exitCodes.done;
}

async function isSelected(
  { stepIndex, stream: from }: LogEntry,
  { stream, step }: LineSelection,
  steps: Steps,
): Promise<boolean> {
  if (stream !== undefined && from !== stream) return false;
  return step === undefined || steps.isMeant(stepIndex, step);
}

/** Why the selected steps failed, as notes like those of the runner in the log. */
async function selectedFailures(
  { stream = "note", step }: LineSelection,
  steps: Steps,
): Promise<readonly Failure[]> {
  return stream === "note" ? steps.select(await steps.failures(), step) : [];
}

type Search = ReturnType<typeof searchOf>;

/** @throws PipelineError `usage` for an invalid pattern, and from `find` for one that takes too long. */
function searchOf(grep: string) {
  const read = readTextExpectation(grep);
  if (read.kind === "invalid") throw usage(`--grep: ${read.problem}.`);
  const search = searchFor(read.expectation);
  const result = {
    hasFound: false,
    find(lines: string): boolean {
      try {
        const isFound = search(lines);
        result.hasFound ||= isFound;
        return isFound;
      } catch (error) {
        if (error instanceof PatternFault) throw usage(`--grep: ${error.message}.`);
        throw error;
      }
    },
  };
  return result;
}

function printerOf(
  { output }: Tool,
  runId: string,
  steps: Steps,
  apiKeys: ReadonlySet<string>,
  { tail, raw, ndjson, timestamps }: LogOptions,
  grep: Search | undefined,
): LogPrinter {
  if (output.json || ndjson) return entryPrinter(output, runId, tail);
  if (raw) return rawPrinter(output, apiKeys);
  return linePrinter(output, steps.nameOf, { hasTimes: timestamps, tail, apiKeys, grep: grep?.find });
}

function checkOptions({ output }: Tool, named: string | undefined, options: LogOptions): void {
  const { raw = false, ndjson = false, timestamps, tail, stream, grep } = options;
  const { pipeline, last, follow, exitStatus } = options;
  const forms = [output.json && "--json", ndjson && "--ndjson", raw && "--raw"].filter(
    (form) => form !== false,
  );
  if (forms.length > 1) throw usage(`${forms.join(" and ")} exclude each other.`);
  const [form] = forms;
  if (timestamps && form !== undefined) throw usage(`--timestamps is for lines; ${form} has none.`);
  if (grep === "") throw usage("--grep takes a text or a /pattern/.");
  if (grep !== undefined && form !== undefined) throw usage(`--grep is for lines; ${form} has none.`);
  if (pipeline === undefined && last !== undefined) throw usage("--last counts the runs of a --pipeline.");
  if (pipeline !== undefined) {
    if (grep === undefined) throw usage("--pipeline searches several logs, so it takes --grep.");
    if (named !== undefined) throw usage("A run and --pipeline exclude each other.");
    if (follow) throw usage("--follow is for one run, --pipeline for several.");
    if (exitStatus) throw usage("--exit-status is for one run, --pipeline for several.");
  }
  if (raw && stream === "note") throw usage("--raw is what the programs wrote, and notes are none of it.");
  if (raw && tail !== undefined) throw usage("--tail counts lines; --raw has none.");
  if (raw && output.out.isTerminal) {
    throw new PipelineError("usage", "--raw would let the log drive this terminal.", {
      next: "Send it to a file or another program: `pipeline runs log --raw > run.log`.",
    });
  }
}

function usage(message: string): PipelineError {
  return new PipelineError("usage", message, { next: "See `pipeline runs log --help`." });
}
