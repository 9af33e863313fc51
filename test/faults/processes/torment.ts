import { setTimeout as pause } from "node:timers/promises";
import fc from "fast-check";
import type { StartAttempt } from "../../../src/client/http/serviceClient.ts";
import { utcDay } from "../../../src/contract/day.ts";
import type { servedProcess } from "../../service/servedProcess.ts";
import type { Round } from "../round.ts";

type Served = Awaited<ReturnType<typeof servedProcess>>;
type Member = Awaited<ReturnType<Served["member"]>>;

const which = fc.nat(1000);

/** One thing that happens to the service. */
export const torment = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      act: fc.constant("start" as const),
      org: fc.nat(1),
      pipeline: fc.constantFrom("quick", "long", "stubborn"),
      wait: fc.constantFrom(0, 2, 120),
      times: fc.constantFrom(1, 1, 1, 4),
    }),
  },
  { weight: 2, arbitrary: fc.record({ act: fc.constant("again" as const), which }) },
  { weight: 4, arbitrary: fc.record({ act: fc.constant("cancel" as const), which }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constant("leave" as const), which }) },
  { weight: 2, arbitrary: fc.record({ act: fc.constant("kill service" as const) }) },
  { weight: 2, arbitrary: fc.record({ act: fc.constant("kill runner" as const), which }) },
  // Long enough for something to happen, or not; what holds, holds at any moment.
  { weight: 3, arbitrary: fc.record({ act: fc.constant("pause" as const), milliseconds: fc.nat(400) }) },
);

type Act = typeof torment extends fc.Arbitrary<infer T> ? T : never;

/** A start that was asked for over HTTP, perhaps more than once. */
interface Asked {
  readonly member: Member;
  readonly pipeline: string;
  readonly idempotencyKey: string;
  readonly leaving: AbortController;
  /** What replies have said of it: ids of runs, and scopes of refusals. */
  readonly promised: Set<string>;
  readonly refused: Set<string>;
  answers: number;
  asked: number;
}

/** Torments a service by HTTP and by kill -9, and checks after each that what it has promised holds. */
export class Torment {
  readonly #served: Served;
  readonly #round: Round;
  readonly #members: readonly Member[];
  readonly #asked: Asked[] = [];
  readonly #open = new Set<Promise<void>>();

  constructor(served: Served, members: readonly Member[], round: Round) {
    this.#round = round;
    this.#served = served;
    this.#members = members;
  }

  async make(act: Act): Promise<void> {
    const { rows, kill, start } = this.#served;
    switch (act.act) {
      case "start":
        for (let time = 0; time < act.times; time++) this.#start(act);
        break;
      case "again": {
        const asked = pick(this.#asked, act.which);
        if (asked !== undefined) this.#ask(asked, 0);
        break;
      }
      case "cancel": {
        const run = pick(await rows(), act.which);
        if (run === undefined) break;
        const member = this.#members.find(({ orgId }) => orgId === run.org_id);
        const reply = await member?.client().cancel(run.id, new AbortController().signal);
        this.#round.check(reply?.status !== "running", "a cancelled run is said to be running");
        break;
      }
      case "leave":
        pick(this.#asked, act.which)?.leaving.abort(new Error("left"));
        break;
      case "kill service":
        await kill();
        this.#round.count("kills");
        await Promise.all(this.#open);
        await start();
        await this.#checkRecovered();
        break;
      case "kill runner": {
        const inWork = (await rows()).filter(({ stopped_at }) => stopped_at === null);
        const pid = pick(inWork, act.which)?.runner_pid;
        if (typeof pid === "number") {
          killIfThere(pid);
          this.#round.count("kills");
        }
        break;
      }
      case "pause":
        await pause(act.milliseconds);
        break;
      default:
        act satisfies never;
    }
    await this.#check();
  }

  /** Cancels what is in work until nothing is, and checks everything that was ever promised. */
  async finish(): Promise<void> {
    for (;;) {
      const inWork = (await this.#served.rows()).filter(({ stopped_at }) => stopped_at === null);
      if (inWork.length === 0 && this.#open.size === 0) break;
      for (const { id, org_id } of inWork) {
        const member = this.#members.find(({ orgId }) => orgId === org_id);
        await member?.client().cancel(id, new AbortController().signal);
      }
      await pause(50);
    }
    await this.#check();
    this.#round.checkSame([...(await this.#served.runsWithProcesses())], [], "processes outlive their runs");
    const rows = await this.#served.rows();
    for (const { idempotencyKey, promised, refused, asked, answers } of this.#asked) {
      const own = rows.filter((row) => row.idempotency_key === idempotencyKey).map(({ id }) => id);
      this.#round.check(own.length <= 1 && promised.size <= 1, "one wish has made two runs");
      this.#round.check(
        [...promised].every((id) => own.includes(id)),
        "a run that was promised is not there",
      );
      const isRefused = refused.size > 0 && promised.size === 0 && asked === answers;
      if (isRefused) this.#round.checkSame(own, [], "a refused start has made a run");
    }
    this.#round.count("runs", rows.length);
  }

  #start({ org, pipeline, wait }: Extract<Act, { act: "start" }>): void {
    const member = this.#members[org];
    if (member === undefined) throw new Error("there is no such org");
    const asked: Asked = {
      member,
      pipeline,
      idempotencyKey: `wish-${this.#asked.length}`,
      leaving: new AbortController(),
      promised: new Set(),
      refused: new Set(),
      answers: 0,
      asked: 0,
    };
    this.#asked.push(asked);
    this.#ask(asked, wait);
  }

  #ask(asked: Asked, waitSeconds: number): void {
    const { member, pipeline, idempotencyKey, leaving } = asked;
    asked.asked += 1;
    this.#round.count("starts");
    const answer: Promise<void> = member
      .client()
      .start({ pipeline }, { waitSeconds, idempotencyKey }, leaving.signal)
      .then(
        (attempt: StartAttempt) => {
          asked.answers += 1;
          if (attempt.kind === "started") asked.promised.add(attempt.run.runId);
          else {
            asked.refused.add(attempt.refusal.scope);
            this.#round.count("refusals");
          }
        },
        (error: unknown) => {
          // No answer: the caller has left, or the service was killed under it.
          const text = String(error);
          this.#round.check(
            /left|can't be reached|connection|closed|stopping/i.test(text),
            "a start failed with a strange error",
            text,
          );
        },
      )
      .finally(() => this.#open.delete(answer));
    this.#open.add(answer);
  }

  /** What holds at every moment. */
  async #check(): Promise<void> {
    this.#round.check(
      this.#served.isRunning,
      "the service has ended by itself",
      this.#served.log.slice(-2_000),
    );
    const { rows, runsWithProcesses } = this.#served;
    for (const { orgId, client, limits } of this.#members) {
      const before = (await rows()).filter((row) => row.org_id === orgId);
      const inWork = before.filter(({ stopped_at }) => stopped_at === null);
      this.#round.check(
        inWork.length <= limits.parallelRuns,
        "more runs are in work than may be",
        inWork.length,
      );
      const day = utcDay(Date.now());
      const used = (await client().org(new AbortController().signal)).usage.runsToday;
      const after = (await rows()).filter((row) => row.org_id === orgId);
      const counts = [before, after].map((some) => some.filter((row) => row.day === day).length);
      this.#round.check(
        counts.some((count) => count === used) || isBetween(used, counts),
        "the count is not the rows'",
        { used, counts },
      );
      this.#round.check(used <= limits.runsPerDay, "more runs today than may be", used);
    }
    const ended = (await rows()).filter(({ stopped_at }) => stopped_at !== null);
    const living = await runsWithProcesses();
    this.#round.checkSame(
      ended.filter(({ id }) => living.has(id)).map(({ id }) => id),
      [],
      "a run has given up its place before its processes were gone",
    );
  }

  /** A service that answers again has no run in work yet, and no process is left of those before. */
  async #checkRecovered(): Promise<void> {
    const inWork = (await this.#served.rows()).filter(({ stopped_at }) => stopped_at === null);
    this.#round.checkSame(inWork, [], "a run is in work that no runner works on");
    this.#round.checkSame(
      [...(await this.#served.runsWithProcesses())],
      [],
      "a process has outlived its service",
    );
  }
}

function isBetween(value: number, bounds: readonly number[]): boolean {
  return value >= Math.min(...bounds) && value <= Math.max(...bounds);
}

function killIfThere(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended meanwhile.
  }
}

function pick<T>(from: readonly T[], which: number): T | undefined {
  return from[which % Math.max(1, from.length)];
}
