import { isDeepStrictEqual } from "node:util";
import { followLog } from "../../../src/client/follow/followLog.ts";
import { PipelineError } from "../../../src/contract/errors.ts";
import { isActive } from "../../../src/contract/runStatus.ts";
import type { Member, Row } from "../chaosService.ts";
import type { Round } from "../round.ts";

/** What replies have promised besides runs: how a run ended, and what its log says. */
export class Promises {
  readonly #round: Round;
  readonly #ends = new Map<string, string>();
  readonly #cancelling = new Set<string>();
  readonly #logs = new Map<string, { readonly member: Member; readonly entries: readonly unknown[] }>();

  constructor(round: Round) {
    this.#round = round;
  }

  async cancel(member: Member, runId: string): Promise<void> {
    const reply = await this.#answer(() => member.client().cancel(runId, this.#round.signal));
    if (reply === undefined) return;
    const { status } = reply;
    this.#round.trace("cancel answered", reply);
    this.#round.check(status !== "running", "a cancelled run is said to be running", reply);
    if (status === "cancelling") this.#cancelling.add(runId);
    else this.#promiseEnd(runId, status);
  }

  async readLog(member: Member, runId: string): Promise<void> {
    const entries = await this.#answer(() => this.#log(member, runId));
    if (entries === undefined) return;
    const { signal } = this.#round;
    const run = await this.#answer(() => member.client().run(runId, signal));
    if (run !== undefined && !isActive(run)) this.#promiseEnd(runId, run.status);
    const before = this.#logs.get(runId)?.entries ?? [];
    this.#checkLog(before, entries);
    this.#logs.set(runId, { member, entries });
  }

  /** Checks what can be read without the service. */
  checkRows(rows: readonly Row[]): void {
    for (const { id, status, stopped_at } of rows) {
      if (stopped_at === null) continue;
      this.#promiseEnd(id, status);
    }
    const ids = new Set(rows.map(({ id }) => id));
    for (const id of this.#ends.keys()) this.#round.check(ids.has(id), "a run that has ended is gone", id);
  }

  /** Checks the rest, once all runs have ended and a service answers. */
  async check(rows: readonly Row[], wasKilled: boolean): Promise<void> {
    const round = this.#round;
    this.checkRows(rows);
    for (const id of this.#cancelling) {
      const row = rows.find((one) => one.id === id);
      round.check(isEndOfCancelled(row, wasKilled), "a run that was being cancelled has not ended so", row);
    }
    for (const [runId, { member, entries }] of this.#logs) {
      this.#checkLog(entries, await this.#log(member, runId));
    }
  }

  #promiseEnd(runId: string, status: string): void {
    const told = this.#ends.get(runId) ?? status;
    this.#round.check(told === status, "an end has changed", { runId, told, status });
    this.#ends.set(runId, told);
  }

  #checkLog(before: readonly unknown[], now: readonly unknown[]): void {
    const same = isDeepStrictEqual(now.slice(0, before.length), before);
    this.#round.check(same, "log entries that were read are not there any more", { before, now });
  }

  async #log(member: Member, runId: string): Promise<readonly unknown[]> {
    const entries: unknown[] = [];
    const tell = (entry: unknown) => entries.push(entry);
    await followLog(member.client(), runId, { follow: false }, tell, this.#round.signal);
    return entries;
  }

  /** Undefined if no answer came: the service is being killed and stopped. */
  async #answer<T>(ask: () => Promise<T>): Promise<T | undefined> {
    try {
      return await ask();
    } catch (error) {
      this.#round.signal.throwIfAborted();
      const isNone =
        error instanceof PipelineError && (error.type === "out-of-reach" || /stopping/.test(error.message));
      // A start that was not told to its caller is taken back, and with it its run.
      const isGone = error instanceof PipelineError && error.type === "not-found";
      this.#round.check(isNone || isGone, "a request failed with a strange error", String(error));
      return undefined;
    }
  }
}

/** Whatever came first is the reason. What a pipeline had done by itself when it was to be stopped is done. */
function isEndOfCancelled(row: Row | undefined, wasKilled: boolean): boolean {
  switch (row?.status) {
    case "cancelled":
    case "timed-out":
      return true;
    case "lost":
      return wasKilled;
    case "succeeded":
      return row.pipeline !== "long" && row.pipeline !== "stubborn";
    default:
      return false;
  }
}
