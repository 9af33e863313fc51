import { PipelineError } from "../../contract/errors.ts";
import type { ServedRun } from "../../contract/run.ts";
import {
  type HeartbeatReply,
  type RunnerMessage,
  type StopReason,
  stopReasonSchema,
} from "../../contract/runners.ts";
import { toWire } from "../../contract/wire.ts";
import type { Admission } from "../../service/admission/admission.ts";
import { endOf, type Runs, sameCancel, stoppedEnd } from "../../service/runs/runs.ts";
import { setValues } from "../../service/store/ranPipelines.ts";
import { runRow, setRun, touchRun } from "../../service/store/runChanges.ts";
import { addArtifact } from "../../service/store/runFiles.ts";
import { markCancelling, putSteps, stopRun } from "../../service/store/runs.ts";
import type { StoreDeps } from "../../service/store/storeDeps.ts";
import type { Write } from "../../service/store/tables.ts";
import { databaseNow } from "../store/databaseClock.ts";
import type { PostgresBus } from "../store/postgresBus.ts";
import {
  type HeldRun,
  isHeldRun,
  launchRun,
  lockHeldRun,
  renewRunnerLeases,
  type TakenRun,
  takeRun,
  withdrawRun,
} from "../store/work.ts";

export interface RemoteRunsDeps extends Omit<StoreDeps, "bus"> {
  readonly bus: Pick<PostgresBus, "emit">;
  /** Locks the org, writes what ends a run, and grants its slot (`Admission.release`). */
  readonly release: Admission["release"];
  /** Locks the org, and writes what keeps its slots as they are (`Admission.change`). */
  readonly change: Admission["change"];
}

/** A runner as its requests name it: the key and the id together, so that none can speak for another's. */
export interface RunnerName {
  readonly keyId: string;
  readonly runnerId: string;
}

/** For how long, and with what pause, writing a launch is retried while the database is away, in milliseconds. */
const launchRetries = { longest: 60_000, pause: 500 } as const;

/**
 * The runs of runners on other machines, in their rows alone: any server takes in what a runner reports, and no server holds
 * a run.
 */
export class RemoteRuns implements Runs {
  readonly #deps: RemoteRunsDeps;
  readonly #underWay = new Set<Promise<void>>();

  constructor(deps: RemoteRunsDeps) {
    this.#deps = deps;
  }

  get count(): number {
    return this.#underWay.size;
  }

  launch({ runId, pipeline }: ServedRun): void {
    const { writer, bus, clock, log } = this.#deps;
    const until = clock.monotonic() + launchRetries.longest;
    const launching = (async () => {
      for (;;) {
        try {
          const orgId = await writer.write((tx) => launchRun(tx, runId));
          if (orgId === undefined) return;
          bus.emit(orgId, { kind: "work", runId });
          bus.emit(orgId, { kind: "run", runId });
          log("info", "run offered to the runners", { runId, pipeline });
          return;
        } catch (error) {
          log("error", "run not launched", { runId, error });
          // Its lease has ended by then: the run is lost once the database is back.
          if (clock.monotonic() >= until) return;
          await clock.sleep(launchRetries.pause, new AbortController().signal);
        }
      }
    })();
    this.#track(launching);
  }

  withdraw(runId: string): void {
    const { db, release, bus, log } = this.#deps;
    const withdrawing = (async () => {
      const row = await runRow(db, runId).select("org_id").executeTakeFirst();
      if (row === undefined) return;
      await release(row.org_id, (tx) => withdrawRun(tx, runId));
      bus.emit(row.org_id, { kind: "org" });
    })().catch((error: unknown) => log("error", "run not withdrawn: its lease does it", { runId, error }));
    this.#track(withdrawing);
  }

  /**
   * Ends a run that no runner has taken yet at once; otherwise its runner ends its processes first. A second cancel also ends the
   * cleanup, which the first one has begun.
   */
  async cancel(orgId: string, runId: string, by: string): Promise<void> {
    const { release, bus } = this.#deps;
    await release(orgId, async (tx, now) => {
      const reason: StopReason = { kind: "cancelled", by, at: now };
      const before = await runRow(tx, runId).select("stop_reason").executeTakeFirst();
      const row = await tx
        .updateTable("runs")
        .set({ stop_reason: JSON.stringify(reasonAfter(before?.stop_reason ?? null, reason, now)) })
        .where("id", "=", runId)
        .where("stopped_at", "is", null)
        .returning(["launched_at", "holder"])
        .executeTakeFirst();
      if (row === undefined) return;
      // Before the launch, the run's holder is the server that answers its caller.
      const isTaken = row.launched_at !== null && row.holder !== null;
      if (isTaken) await markCancelling(tx, runId);
      else await stopRun(tx, runId, stoppedEnd(reason), now);
    });
    bus.emit(orgId, { kind: "stop", runId });
    this.#emitChange(orgId, runId);
  }

  /** The runs themselves go on: another server takes in what their runners say. */
  async stopAll(): Promise<void> {
    await Promise.all(this.#underWay);
  }

  /** Gives a runner the run that has waited longest, of an org or, where it is undefined, of every org. */
  async take(
    runner: RunnerName,
    which: { readonly orgId: string | undefined; readonly known: readonly string[] },
  ): Promise<TakenRun | undefined> {
    const { writer, bus, log } = this.#deps;
    const name = runner.runnerId.slice("rnr_".length);
    const taken = await writer.write((tx) => takeRun(tx, { holder: holderOf(runner), name, ...which }));
    if (taken === undefined) return undefined;
    const { runId, orgId } = taken;
    log("info", "run taken", { runId, runner: name });
    // In a transaction of its own, which waits for the org's row: the runner doesn't wait for that.
    this.#track(
      writer
        .write((tx) => touchRun(tx, runId))
        .then(
          () => bus.emit(orgId, { kind: "run", runId }),
          (error: unknown) => log("warn", "who watches isn't told who has a run", { runId, error }),
        ),
    );
    return taken;
  }

  /** Renews the leases of a runner's runs. @returns what it has to end, and what is not its own any more. */
  async renew(runner: RunnerName, runIds: readonly string[]): Promise<HeartbeatReply> {
    const own = await renewRunnerLeases(this.#deps.db, holderOf(runner), runIds);
    return {
      stop: [...own].flatMap(([runId, reason]) =>
        reason === null ? [] : [{ runId, reason: stopReasonSchema.parse(JSON.parse(reason)) }],
      ),
      gone: runIds.filter((runId) => !own.has(runId)),
    };
  }

  /**
   * Takes in what a runner reports of a run: all of it, or nothing. Messages that were taken in before are skipped.
   * @param first the number of the first message.
   * @throws PipelineError `conflict` when the run is not the runner's any more.
   */
  async takeIn(
    runner: RunnerName,
    runId: string,
    first: number,
    messages: readonly RunnerMessage[],
  ): Promise<void> {
    const { db, writer, release, change, bus, clock } = this.#deps;
    const held = await runRow(db, runId).select("org_id").executeTakeFirst();
    if (held === undefined) throw notHeld();
    const take = async (tx: Write, now: number): Promise<void> => {
      const run = await lockHeldRun(tx, runId, holderOf(runner));
      // The end may be sent again if the reply to it was lost.
      if (run === undefined || (run.isOver && first + messages.length - 1 > run.messages)) throw notHeld();
      if (first > run.messages + 1) {
        throw new PipelineError("conflict", `Message ${run.messages + 1} is missing.`, {
          next: "Send the messages in order, from that one.",
        });
      }
      await this.#write(tx, { runId, run, now }, messages.slice(run.messages + 1 - first));
    };
    const kinds = new Set(messages.map(({ kind }) => kind));
    const isReturned = kinds.has("returned");
    const isEnd = kinds.has("ended") || isReturned;
    const isOutput = [...kinds].every((kind) => kind === "output");
    // Whoever locks both rows locks the org's first. Output changes nothing of the org, and needs only the run's.
    if (isOutput) await writer.write((tx) => take(tx, clock.now()));
    else await (isEnd ? release : change)(held.org_id, take);
    if (isEnd || kinds.has("output")) bus.emit(held.org_id, { kind: "log", runId });
    if (isReturned) bus.emit(held.org_id, { kind: "work", runId });
    if (isEnd) this.#emitChange(held.org_id, runId);
    else if (!isOutput) bus.emit(held.org_id, { kind: "run", runId });
  }

  /** @throws PipelineError `conflict` when the run is not the runner's any more. */
  async requireHeld(tx: Write, runner: RunnerName, runId: string): Promise<void> {
    if (!(await isHeldRun(tx, runId, holderOf(runner)))) throw notHeld();
  }

  async #write(
    tx: Write,
    { runId, run, now }: { readonly runId: string; readonly run: HeldRun; readonly now: number },
    messages: readonly RunnerMessage[],
  ): Promise<void> {
    if (messages.length === 0) return;
    const lines: string[] = [];
    const end = messages.findIndex(({ kind }) => kind === "ended");
    // Ignores what comes after the end.
    const heard = end === -1 ? messages : messages.slice(0, end + 1);
    const steps = heard.filter((message) => message.kind === "step");
    await putSteps(tx, runId, new Map(steps.map((step) => [step.index, withoutNul(step)])));
    for (const message of heard) {
      switch (message.kind) {
        case "output": {
          const { index: stepIndex, at, stream, text } = message;
          const sequence = run.logEntries + lines.length + 1;
          lines.push(JSON.stringify(toWire({ sequence, at, stepIndex, stream, text })));
          break;
        }
        case "step":
          break;
        case "artifact":
          await addArtifact(tx, runId, { ...withoutNul(message), stepIndex: message.index });
          break;
        case "pipeline":
        case "inputs":
        case "outputs":
          await setValues(tx, runId, message);
          break;
        case "returned": {
          if (run.messages > 0 || messages.length > 1) throw notHeld();
          const reason = stopReasonOf(run);
          // Its next runner counts its messages from 1 again, and has as long to take it.
          if (reason === undefined) {
            return setRun(tx, runId, { holder: null, lease_until: null, launched_at: databaseNow });
          }
          await stopRun(tx, runId, stoppedEnd(reason), now);
          break;
        }
        case "ended":
          await stopRun(tx, runId, endOf(withoutNul(message.end), stopReasonOf(run, message)), now);
          break;
        default:
          message satisfies never;
      }
    }
    if (lines.length > 0) {
      await tx
        .insertInto("log_chunks")
        .values({ run_id: runId, first: run.logEntries + 1, lines: lines.join("\n") })
        .execute();
    }
    const counts = { messages: run.messages + messages.length, log_entries: run.logEntries + lines.length };
    await setRun(tx, runId, counts);
  }

  #emitChange(orgId: string, runId: string): void {
    this.#deps.bus.emit(orgId, { kind: "run", runId });
    this.#deps.bus.emit(orgId, { kind: "org" });
  }

  #track(work: Promise<void>): void {
    this.#underWay.add(work);
    void work.finally(() => this.#underWay.delete(work));
  }
}

function holderOf({ keyId, runnerId }: RunnerName): string {
  return `${keyId}/${runnerId}`;
}

/** PostgreSQL stores no NUL. One in a runner's words must not keep the run's end from being written. */
function withoutNul<T extends object>(words: T): T {
  const entries = Object.entries(words).map(([name, value]) => [
    name,
    typeof value === "string" ? value.replaceAll("\0", "\ufffd") : value,
  ]);
  return { ...words, ...Object.fromEntries(entries) };
}

/** The first reason counts; a later cancel only marks it as repeated. */
function reasonAfter(before: string | null, reason: StopReason, now: number): StopReason {
  if (before === null) return reason;
  const first = stopReasonSchema.parse(JSON.parse(before));
  const isAnother = first.kind === "cancelled" && now - (first.at ?? 0) >= sameCancel;
  return isAnother ? { ...first, again: true } : first;
}

/** Why a run was stopped. A reason of its runner comes first: the runner sends one only if it had heard of no other before. */
function stopReasonOf(
  { stopReason }: HeldRun,
  message?: Extract<RunnerMessage, { kind: "ended" }>,
): StopReason | undefined {
  if (message?.stopReason !== undefined) return withoutNul(message.stopReason);
  return stopReason === null ? undefined : stopReasonSchema.parse(JSON.parse(stopReason));
}

function notHeld(): PipelineError {
  return new PipelineError("conflict", "This run is not this runner's any more.", {
    next: "End its processes, and take other work.",
  });
}
