import { isDeepStrictEqual } from "node:util";
import { PipelineError } from "../../contract/errors.ts";
import type { Run } from "../../contract/run.ts";
import { isActive } from "../../contract/runStatus.ts";
import type { ServiceClient } from "../service/client.ts";
import { asAbsentEndpoint, findAgain, mayHaveRestarted, type Reconnect } from "../service/failedRequest.ts";
import { OutOfReach } from "../service/reachFaults.ts";
import { AbsentEndpoint } from "../service/replyErrors.ts";
import { growingPauses } from "../service/retry.ts";
import { eventStream, serviceEvent } from "./events.ts";

/** Failures in a row to open the stream before the run is only polled. */
const streamChances = 3;
/** Polls in a row without a reply before the service counts as out of reach. */
const faultsForgiven = 4;
/** The same for error replies of a service that is stopping or has restarted with another key. */
const refusalsForgiven = 2;

/**
 * Follows a run until it stops, over the service's events; without those, or while the stream is broken, by polling with growing
 * pauses. The run is read once after each stream has opened, so that its end is never missed.
 *
 * @param started its `pipeline`, if known, fills in that field of every state.
 * @param onChange called with the run as first read, and then with each change.
 * @param reconnect finds the service again after a failure; by default its address stays.
 * @returns the stopped run, with its steps if the service sends them.
 * @throws PipelineError an `AbsentEndpoint` from a service that can't show the run, see `asAbsentEndpoint`; `out-of-reach` if the
 * service stays away; the signal's reason.
 */
export async function followRun(
  asker: ServiceClient,
  { runId, pipeline }: Pick<Run, "runId" | "pipeline">,
  onChange: (run: Run) => void,
  signal: AbortSignal,
  reconnect?: Reconnect,
): Promise<Run> {
  let service = asker;
  let client = asker.withoutRetries();
  let lastReported: Run | undefined;
  const report = (seen: Run): Run => {
    const run = { ...seen, pipeline: seen.pipeline ?? pipeline };
    if (!isDeepStrictEqual(run, lastReported)) onChange(run);
    lastReported = run;
    return run;
  };
  const pauses = growingPauses(client.random);
  let chances = streamChances;
  for (let faults = 0; ; ) {
    if (chances > 0) {
      chances -= 1;
      try {
        const stopped = await followOnStream(client, runId, report, () => (chances = streamChances), signal);
        return report(await withSteps(client, stopped, signal));
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof PipelineError)) throw error;
        if (isOfNoUse(error)) chances = 0;
      }
    }
    try {
      const run = report(await client.run(runId, signal));
      if (!isActive(run)) return run;
      faults = 0;
    } catch (error) {
      faults += 1;
      const isOfRun = lastReported !== undefined || isNoSuchRun(error);
      if (!isForgiven(error, faults, reconnect !== undefined) && (isOfRun || !mayPass(error, faults))) {
        throw isOfRun ? error : await asAbsentEndpoint(service, error, signal);
      }
    }
    await client.clock.sleep(pauses.next().value, signal);
    if (faults === 0) continue;
    const found = await findAgain(service, reconnect, signal);
    if (found === service) continue;
    service = found;
    client = found.withoutRetries();
    chances = streamChances;
  }
}

/** Whether following failed because the service shows no runs, or not this one, which it has just started. */
export function isUnseen(error: unknown): error is PipelineError {
  return error instanceof AbsentEndpoint || isNoSuchRun(error);
}

function isNoSuchRun(error: unknown): error is PipelineError {
  return error instanceof PipelineError && error.type === "not-found";
}

/** Whether the first read may succeed next time: this reply may have come from a proxy. */
function mayPass(error: unknown, faults: number): boolean {
  return error instanceof PipelineError && error.type === "breaks-contract" && faults <= refusalsForgiven;
}

/** Whether opening the stream again would most likely fail too. */
function isOfNoUse(error: PipelineError): boolean {
  if (error instanceof OutOfReach) return error.fault === "timed-out";
  return error.type === "not-supported" || error.type === "breaks-contract";
}

function isForgiven(error: unknown, faults: number, canLookAnew: boolean): boolean {
  if (error instanceof OutOfReach) return faults <= faultsForgiven;
  return canLookAnew && mayHaveRestarted(error) && faults <= refusalsForgiven;
}

/** Resolves when the run has stopped. @throws if the stream breaks before that. */
async function followOnStream(
  client: ServiceClient,
  runId: string,
  report: (run: Run) => Run,
  onOpened: () => void,
  signal: AbortSignal,
): Promise<Run> {
  for await (const item of eventStream(client, "api/events", "own", {}, signal)) {
    if (item.kind === "opened") {
      const run = report(await client.run(runId, signal));
      if (!isActive(run)) return run;
      onOpened();
      continue;
    }
    const event = serviceEvent(client, item.message);
    if (event?.kind !== "run" || event.run.runId !== runId) continue;
    if (!isActive(report(event.run))) return event.run;
  }
  throw new OutOfReach("dropped", `${client.baseUrl.host} ended the stream of events.`, {});
}

/** An event may leave the steps out; the run itself has them. */
async function withSteps(client: ServiceClient, stopped: Run, signal: AbortSignal): Promise<Run> {
  if (stopped.steps !== undefined) return stopped;
  try {
    const whole = await client.run(stopped.runId, signal);
    return isActive(whole) ? stopped : whole;
  } catch {
    signal.throwIfAborted();
    return stopped;
  }
}
