import assert from "node:assert/strict";
import fc from "fast-check";
import { PipelineError } from "../../../../src/contract/errors.ts";
import { utcDay } from "../../../../src/contract/limits.ts";
import type { ServedRun } from "../../../../src/contract/run.ts";
import { onBoth } from "../../../service/onBoth.ts";
import { type AskedStart, hasStarted, type StartedCore } from "../../../service/startedCore.ts";
import { startedOn } from "../../../service/startedCores.ts";

/** The orgs of the model, by what they may do. */
const modelOrgs = [
  { name: "one place, two runs a day", parallelRuns: 1, runsPerDay: 2 },
  { name: "two places, three runs a day", parallelRuns: 2, runsPerDay: 3 },
  { name: "the free tier", parallelRuns: 1, runsPerDay: 50 },
] as const;

/** A row needs pages of its own, so that one more doesn't fit when the disk is full. */
const longName = "x".repeat(6_000);

const org = fc.nat(modelOrgs.length - 1);
const which = fc.nat(1000);

const act = <Act extends string, Fields>(
  weight: number,
  name: Act,
  fields: { [Field in keyof Fields]: fc.Arbitrary<Fields[Field]> },
) => ({
  weight,
  arbitrary: fc.record(fields).map((drawn) => ({ act: name, ...(drawn as Fields) })),
});

/** One thing that happens. Numbers choose among what is there, so that every sequence has a meaning. */
const happening = fc.oneof(
  act(8, "ask", {
    ...{ org, wait: fc.constantFrom(0, 5, 120), isTold: fc.boolean() },
    keyNumber: fc.option(fc.nat(2), { nil: undefined, freq: 4 }),
  }),
  act(2, "leave", { which }),
  act(2, "tell", { which }),
  act(1, "lose", { which }),
  act(5, "end", { which }),
  act(2, "cancel", { which }),
  act(3, "turn", { seconds: fc.constantFrom(1, 6, 31, 61, 121, 5_000) }),
  // Forward and back, within the day and over one or two midnights.
  act(1, "set", { hours: fc.constantFrom(-30, -13, -1, 1, 13, 30) }),
  act(1, "disk", { isFull: fc.boolean() }),
  act(1, "crash", { hours: fc.constantFrom(-13, 0, 0, 13) }),
  act(5, "settle", {}),
);

type Happening = typeof happening extends fc.Arbitrary<infer T> ? T : never;

const happenings = fc.array(happening, { minLength: 30, maxLength: 80, size: "max" });

const ask = { act: "ask", org: 0, wait: 0, keyNumber: undefined, isTold: true } as const;
const end = { act: "end", which: 0 } as const;
const settle = { act: "settle" } as const;
const turn = { act: "turn", seconds: 31 } as const;

/** A sequence after which the model has seen everything that may come of a start and of a run, while the disk isn't full. */
const everyOutcome: Happening[] = [
  ...[{ ...ask, keyNumber: 0 }, settle, { ...ask, keyNumber: 0 }, settle, ask, settle, end, settle, turn],
  ...[ask, settle, { act: "cancel", which: 1 } as const, settle, end, settle, ask, settle],
  ...[{ ...ask, org: 1 }, settle, turn, settle, end, settle],
  ...[{ ...ask, org: 1, isTold: false }, settle, { act: "crash", hours: 0 } as const, turn, settle],
];

interface Asked extends AskedStart {
  readonly patient: boolean;
  /** Whether the caller has been told of its run, or was lost before. */
  heard: boolean;
  /** Whether it has been told of its run. */
  isTold: boolean;
  /** Those of one moment have no order where many transactions go on at once. */
  readonly moment: number;
}

/** Makes things happen to a service, and checks after each that every rule holds. */
class CoreModel {
  readonly #core: StartedCore;
  readonly #keys: readonly { readonly orgId: string; readonly keyId: string }[];
  readonly #asked: Asked[] = [];
  /** How each run that has ended did: an end never changes. */
  readonly #ends = new Map<string, string>();
  #moment = 0;

  constructor(core: StartedCore, keys: readonly { readonly orgId: string; readonly keyId: string }[]) {
    this.#core = core;
    this.#keys = keys;
  }

  async make(happening: Happening): Promise<void> {
    const { jobs } = this.#core;
    switch (happening.act) {
      case "ask":
        this.#ask(happening);
        break;
      case "leave":
        pick(this.#asked.filter(isOpen), happening.which)?.leave();
        break;
      case "tell":
      case "lose": {
        const asked = pick(
          this.#asked.filter((one) => runOf(one) !== undefined && !one.heard),
          happening.which,
        );
        const run = asked === undefined ? undefined : runOf(asked);
        if (asked === undefined || run === undefined) break;
        asked.heard = true;
        asked.isTold = happening.act === "tell";
        if (asked.isTold) this.#core.tell(run);
        else this.#core.core.runs.withdraw(run.runId);
        break;
      }
      case "end":
        pick([...jobs.values()], happening.which)?.end();
        break;
      case "cancel": {
        const row = pick(await this.#core.rows(), happening.which);
        // Not waited for: other things happen while it is under way.
        if (row !== undefined) void this.#core.core.runs.cancel(row.org_id, row.id, "key_of_test");
        break;
      }
      case "turn":
        await this.#core.turn(happening.seconds * 1000);
        break;
      case "set":
        await this.#set(happening.hours);
        break;
      case "disk":
        await this.#core.limitDisk?.(happening.isFull);
        break;
      case "crash":
        await this.#core.crash();
        for (const asked of this.#asked) asked.heard = true;
        await this.#set(happening.hours);
        await this.#core.start();
        break;
      case "settle":
        await this.#core.quiet();
        await this.#checkSettled();
        this.#moment += 1;
        break;
      default:
        happening satisfies never;
    }
    await this.#check(happening.act === "settle");
  }

  /** What has come of the starts and the runs, so that a test can show that it saw everything that may. */
  async seen(): Promise<string[]> {
    const outcomes = this.#asked.flatMap(({ outcome, left }) => {
      if (outcome !== undefined) return outcome.kind === "refused" ? outcome.refusal.scope : outcome.kind;
      return left instanceof PipelineError && left.message.includes("disk is full") ? "disk full" : [];
    });
    return [...outcomes, ...(await this.#core.rows()).map(({ status }) => status)];
  }

  /** Lets everything come to its end: no run stays active, and nobody in the queue. */
  async finish(): Promise<void> {
    await this.#core.limitDisk?.(false);
    const active = async () => (await this.#core.rows()).filter(({ stopped_at }) => stopped_at === null);
    for (let round = 0; round < this.#asked.length + 2; round++) {
      await this.#core.quiet();
      await this.#check(true);
      if (!this.#asked.some(isOpen) && (await active()).length === 0) break;
      for (const asked of this.#asked) {
        const run = asked.heard ? undefined : runOf(asked);
        if (run === undefined) continue;
        // No reply is on its way for good: its connection closes at last.
        asked.heard = true;
        this.#core.core.runs.withdraw(run.runId);
      }
      for (const job of [...this.#core.jobs.values()]) job.end();
      await this.#core.quiet();
      await this.#core.turn(61_000);
    }
    await this.#core.quiet();
    await this.#checkSettled();
    assert.deepEqual(this.#asked.filter(isOpen), [], "someone is still in the queue");
    assert.deepEqual(await active(), [], "a run is still active");
  }

  #ask({ org, wait, keyNumber, isTold }: Extract<Happening, { act: "ask" }>): void {
    const key = this.#keys[org];
    assert(key !== undefined);
    const keyed =
      keyNumber === undefined
        ? {}
        : { idempotencyKey: `request-${keyNumber}`, name: `keyed-${org}-${keyNumber}` };
    const asked = this.#core.ask(key, wait, { ...keyed, isTold, project: longName });
    if (this.#core.isOrdered) this.#moment += 1;
    this.#asked.push(
      Object.assign(asked, { patient: wait > 0, heard: isTold, isTold, moment: this.#moment }),
    );
  }

  async #set(hours: number): Promise<void> {
    await this.#core.set(new Date(this.#core.clock.now() + hours * 3_600_000).toISOString());
  }

  /** What holds at every moment; some of it only between the transactions, where many go on at once. */
  async #check(isSettled: boolean): Promise<void> {
    const isBetween = isSettled || this.#core.isOrdered;
    const rows = await this.#core.rows();
    for (const [index, { parallelRuns, runsPerDay }] of modelOrgs.entries()) {
      const key = this.#keys[index];
      assert(key !== undefined);
      const own = rows.filter(({ org_id }) => org_id === key.orgId);
      const inWork = own.filter(({ stopped_at }) => stopped_at === null);
      assert(inWork.length <= parallelRuns, `${inWork.length} active runs where ${parallelRuns} may be`);
      const processes = own.filter(({ id }) => this.#core.jobs.has(id));
      assert(processes.length <= parallelRuns, `${processes.length} runs have processes`);
      assert(
        processes.every(({ stopped_at }) => stopped_at === null),
        "a run has released its slot before its processes were gone",
      );
      const days = Map.groupBy(own, ({ day }) => day);
      for (const [day, { length }] of days) {
        assert(length <= runsPerDay, `${length} runs on ${day} where ${runsPerDay} may be`);
      }
      const today = days.get(utcDay(this.#core.clock.now()))?.length ?? 0;
      if (isBetween) assert.equal(await this.#core.used(key), today, "the count is not the rows'");
    }
    for (const { id, status, stopped_at } of rows) {
      if (stopped_at === null) continue;
      const end = `${status} at ${stopped_at}`;
      assert.equal(this.#ends.get(id) ?? end, end, "an end has changed");
      this.#ends.set(id, end);
    }
    for (const asked of this.#asked) {
      const run = asked.isTold && isBetween ? runOf(asked) : undefined;
      if (run !== undefined)
        assert(
          rows.some(({ id }) => id === run.runId),
          "a caller was told of a run that is gone",
        );
    }
    if (isBetween) this.#checkLine();
  }

  /** First come, first served: whoever has been given a slot stood before all who still wait. */
  #checkLine(): void {
    for (const { orgId } of this.#keys) {
      const line = this.#asked.filter((asked) => asked.orgId === orgId);
      const first = line.find((asked) => isOpen(asked) && asked.patient);
      const overtaking = line.filter((asked) => hasStarted(asked) && first && asked.moment > first.moment);
      assert.deepEqual(overtaking, [], "a waiter was overtaken");
    }
  }

  /** What holds once everything under way has come to its end. */
  async #checkSettled(): Promise<void> {
    const rows = await this.#core.rows();
    const names = new Set(rows.map(({ pipeline, org_id }) => `${org_id} ${pipeline}`));
    assert.equal(names.size, rows.length, "one request has made two runs");
    for (const { orgId, name, outcome, left } of this.#asked) {
      if (left !== undefined) assert.match(String(left), /left|the service died|disk is full/);
      if (outcome?.kind !== "refused") continue;
      const sameWish = this.#asked.filter((other) => other.orgId === orgId && other.name === name);
      if (sameWish.length === 1) assert(!names.has(`${orgId} ${name}`), "a refused start has made a run");
    }
    for (const [index, { parallelRuns, runsPerDay }] of modelOrgs.entries()) {
      const orgId = this.#keys[index]?.orgId;
      if (!this.#asked.some((asked) => asked.orgId === orgId && isOpen(asked))) continue;
      const own = rows.filter(({ org_id }) => org_id === orgId);
      const inWork = own.filter(({ stopped_at }) => stopped_at === null).length;
      assert.equal(inWork, parallelRuns, "someone waits for a slot that is free");
      assert(runsPerDay > 0);
    }
  }
}

/** The run that a caller was given, be it new or that of a repeated key. */
function runOf({ outcome }: AskedStart): ServedRun | undefined {
  return outcome === undefined || outcome.kind === "refused" ? undefined : outcome.run;
}

function isOpen({ outcome, left }: AskedStart): boolean {
  return outcome === undefined && left === undefined;
}

function pick<T>(from: readonly T[], which: number): T | undefined {
  return from[which % Math.max(1, from.length)];
}

/** How many sequences of 30 to 80 things that happen; more for a longer search, as `MODEL_RUNS=1000`. */
const wanted = Number(process.env["MODEL_RUNS"] ?? 40);

onBoth("slots and runs", (store) => {
  // On PostgreSQL each takes as long as ten on SQLite.
  const sequences = store.kind === "SQLite" ? wanted : wanted / 4;
  // So few of them may miss an outcome.
  const examples: [Happening[]][] = store.kind === "SQLite" ? [] : [[everyOutcome]];

  it("keep every rule over thousands of starts, waits, ends, cancels, crashes and turns of the clock", async function () {
    this.timeout(sequences * 10_000);
    const seen = new Set<string>();
    await fc.assert(
      fc.asyncProperty(happenings, async (sequence) => {
        await using core = await startedOn(store, "2026-03-04T20:00:00Z", 2);
        const keys = [];
        for (const { name, ...limits } of modelOrgs) keys.push(await core.key(name, limits));
        const model = new CoreModel(core, keys);
        for (const happening of sequence) await model.make(happening);
        await model.finish();
        for (const outcome of await model.seen()) seen.add(outcome);
      }),
      // To look for the shortest sequence that fails would take longer than the test may.
      { numRuns: sequences + examples.length, endOnFailure: true, examples },
    );
    const all = [
      "started",
      "repeated",
      "org",
      "free-day",
      ...(store.kind === "SQLite" ? ["disk full"] : []),
      "succeeded",
      "cancelled",
      "timed-out",
      "lost",
    ];
    assert.deepEqual(
      all.filter((outcome) => !seen.has(outcome)),
      [],
      "never seen",
    );
  });
});
