import { setTimeout as pause } from "node:timers/promises";
import { sql } from "kysely";
import { secondsToReset, utcDay } from "../../../src/contract/day.ts";
import { describeError, PipelineError } from "../../../src/contract/errors.ts";
import { idMaker } from "../../../src/service/store/ids.ts";
import { createKey } from "../../../src/service/store/keys.ts";
import { pick, type Round } from "../round.ts";
import type { StorageAct } from "./acts.ts";
import { keyCalls } from "./keyCalls.ts";
import { type Asked, Promises } from "./promises.ts";
import type { World } from "./world.ts";

export interface Org {
  readonly member: Awaited<ReturnType<World["served"]["member"]>>;
  readonly ownersSecret: string;
}

/** All acts except the damage of files, see `damageAct`. */
type LiveAct = Exclude<StorageAct, { act: "damage" }>;

/** What a refused start, or any other call, says when it can't be done now: what is wrong, and what to do next. */
const isRefusedClearly = /The disk is full|The disk failed at|can't be (?:used|written)|is damaged/;
const saysWhatNext = /Free some space|Check |Stop the service|may be written|Remove /;

/** Attacks a service's disk, clock and folder, and checks that its promises hold. */
export class StorageChaos {
  readonly promises: Promises;
  readonly open = new Set<Promise<void>>();
  readonly #world: World;
  readonly #round: Round;
  readonly #orgs: readonly Org[];
  /** How often the disk was filled so far: what was asked before and answered after may have met it. */
  #fills = 0;

  private constructor(world: World, orgs: readonly Org[], round: Round) {
    this.#world = world;
    this.#orgs = orgs;
    this.#round = round;
    this.promises = new Promises(round);
  }

  static async begin(world: World, round: Round): Promise<StorageChaos> {
    const { served } = world;
    const org = async (name: string, limits: { parallelRuns: number; runsPerDay: number }): Promise<Org> => {
      const member = await served.member(name, limits);
      const deps = { now: Date.now, makeId: idMaker(Date.now) };
      const { secret } = await createKey(served.db, { orgName: name, role: "owner" }, deps);
      return { member, ownersSecret: secret };
    };
    const orgs = [
      await org("one", { parallelRuns: 1, runsPerDay: 12 }),
      await org("two", { parallelRuns: 3, runsPerDay: 50 }),
    ];
    await world.backUp();
    return new StorageChaos(world, orgs, round);
  }

  get orgs(): readonly Org[] {
    return this.#orgs;
  }

  async make(act: LiveAct): Promise<void> {
    const { disk, served } = this.#world;
    switch (act.act) {
      case "start":
        for (let time = 0; time < act.times; time++) {
          const idempotencyKey = `start-${this.promises.asked.length}`;
          const asked = { org: act.org, pipeline: act.pipeline, idempotencyKey, askedAt: performance.now() };
          this.#ask(this.promises.ask({ ...asked, promised: new Set() }), act.wait);
        }
        break;
      case "again": {
        const asked = pick(this.promises.asked, act.which);
        if (asked !== undefined) this.#ask(asked, 0);
        break;
      }
      case "cancel": {
        const run = pick(await served.rows(), act.which);
        const org = this.#orgs.find(({ member }) => member.orgId === run?.org_id);
        if (run !== undefined && org !== undefined)
          await this.#tryIt("a cancel", () => org.member.client().cancel(run.id, this.#round.signal));
        break;
      }
      case "read log": {
        const run = pick(await served.rows(), act.which);
        if (run !== undefined) await this.#readLog(run.id, run.org_id);
        break;
      }
      case "revoke key": {
        const keys = this.#keys(act.org);
        const made = await keys.make();
        if (made !== undefined && (await keys.revoke(made.keyId))) this.promises.revoke(made.secret);
        break;
      }
      case "fill disk":
        this.#fills += 1;
        await disk.fill(served.pid);
        break;
      case "free disk":
        await disk.free(served.pid);
        break;
      case "close folder":
        await this.#world.closeFolder();
        break;
      case "open folder":
        await this.#world.openFolder();
        break;
      case "set clock": {
        const toMidnight = secondsToReset(this.#world.now()) * 1000 - 700;
        await this.#world.setClock(act.by === "midnight" ? toMidnight : act.by);
        break;
      }
      case "kill service":
        await this.#killAndStart();
        break;
      case "back up":
        if (!disk.isFull) await this.#world.backUp();
        break;
      case "checkpoint":
        if (!disk.isFull) await sql`pragma wal_checkpoint(passive)`.execute(served.db);
        break;
      case "pause":
        await pause(act.milliseconds);
        break;
      default:
        act satisfies never;
    }
    await this.check();
  }

  /** What holds at every moment. */
  async check(): Promise<void> {
    const { served } = this.#world;
    const round = this.#round;
    round.check(served.isRunning, "the service has ended by itself", served.log.slice(-2_000));
    for (const { member } of this.#orgs) {
      const ofOrg = async () => (await served.rows()).filter((row) => row.org_id === member.orgId);
      const before = { day: utcDay(this.#world.now()), rows: await ofOrg() };
      const used = (await member.client().org(round.signal)).usage.runsToday;
      const after = { day: utcDay(this.#world.now()), rows: await ofOrg() };
      const active = before.rows.filter(({ stopped_at }) => stopped_at === null).length;
      round.check(active <= member.limits.parallelRuns, "more runs are active than may be", active);
      const counts = [before, after].flatMap(({ rows }) =>
        [before.day, after.day].map((day) => rows.filter((row) => row.day === day).length),
      );
      const fits = used >= Math.min(...counts) && used <= Math.max(...counts);
      round.check(fits, "the count is not the rows' of the service's day", { used, counts });
      round.check(used <= member.limits.runsPerDay, "more runs today than may be", used);
    }
    this.promises.check(await served.rows());
  }

  /** Restores disk and folder, waits until nothing is active, and checks every promise. */
  async finish(): Promise<void> {
    const { disk, served } = this.#world;
    const round = this.#round;
    await disk.free(served.pid);
    await this.#world.openFolder();
    for (;;) {
      round.signal.throwIfAborted();
      const active = (await served.rows()).filter(({ stopped_at }) => stopped_at === null);
      if (active.length === 0 && this.open.size === 0) break;
      for (const { id, org_id, pipeline } of active) {
        const org = this.#orgs.find(({ member }) => member.orgId === org_id);
        // Its time limit has to end it, whatever the clock was set to.
        if (pipeline !== "short") await org?.member.client().cancel(id, round.signal);
      }
      await pause(50);
    }
    await this.check();
    round.checkSame([...(await served.runsWithProcesses())], [], "processes outlive their runs");
    for (const id of this.promises.readLogs) {
      const run = (await served.rows()).find((row) => row.id === id);
      if (run !== undefined) await this.#readLog(id, run.org_id);
    }
    for (const [org] of this.#orgs.entries()) await this.probe(org);
    for (const secret of this.promises.revoked)
      round.checkSame(await this.#keys(0).use(secret), 401, "a key that was revoked is good again");
    round.count("runs", (await served.rows()).length);
  }

  /** Where nothing is active, the next start is admitted at once, or refused for the day, and rightly. */
  async probe(org: number): Promise<void> {
    const { member } = this.#orgs[org] ?? fail("there is no such org");
    const round = this.#round;
    const now = this.#world.now();
    if (secondsToReset(now) < 5) return;
    const rows = (await this.#world.served.rows()).filter((row) => row.org_id === member.orgId);
    const used = rows.filter((row) => row.day === utcDay(now)).length;
    const idempotencyKey = `probe-${org}-${performance.now()}`;
    const attempt = await member
      .client()
      .start({ pipeline: "quick" }, { waitSeconds: 0, idempotencyKey }, round.signal);
    round.count("starts");
    if (attempt.kind === "refused") {
      round.count("refusals");
      const { refusal } = attempt;
      round.checkSame(refusal.scope, "free-day", "a slot has leaked");
      round.check(used >= member.limits.runsPerDay, "a start was refused for a day that is not used up", {
        used,
      });
      const said = refusal.scope === "free-day" ? refusal.secondsToReset : Number.NaN;
      round.check(Math.abs(said - secondsToReset(now)) <= 3, "the day is said to end at another time", {
        said,
      });
      return;
    }
    round.check(used < member.limits.runsPerDay, "a day that is used up has given one more run", { used });
    const { runId } = attempt.run;
    while ((await member.client().run(runId, round.signal)).stoppedAt === undefined) await pause(30);
  }

  /** Waits for what is open; resolves when nothing is. */
  async settle(): Promise<void> {
    while (this.open.size > 0) await Promise.all(this.open);
  }

  /** A start that failed must have said why and what to do; then the cause is taken away, and it must work. */
  async startAgain(mayRefuse: boolean, repair: () => Promise<void>): Promise<"started" | "repaired"> {
    const round = this.#round;
    const said = await this.#world.tryStart();
    if (said === undefined) return "started";
    round.trace("not started", { said, names: await this.#world.names() });
    round.check(mayRefuse, "a service doesn't start that should", said);
    round.check(
      isRefusedClearly.test(said) && saysWhatNext.test(said),
      "a refused start doesn't say what to do",
      said,
    );
    await repair();
    const again = await this.#world.tryStart();
    if (again !== undefined) throw new Error(`the service doesn't start, though the cause is gone: ${again}`);
    return "repaired";
  }

  async #killAndStart(): Promise<void> {
    const { disk, isClosed, served } = this.#world;
    await served.kill();
    this.#round.count("kills");
    await this.settle();
    await this.startAgain(disk.isFull || isClosed, async () => {
      await disk.free(undefined);
      await this.#world.openFolder();
    });
    // The limit of a disk without a mount was the process's own.
    if (disk.isFull) await disk.fill(served.pid);
  }

  async #readLog(runId: string, orgId: string): Promise<void> {
    const org = this.#orgs.findIndex(({ member }) => member.orgId === orgId);
    const lines = await this.#keys(org).log(runId);
    this.#round.check(lines !== undefined, "a log can't be read", { runId });
    if (lines !== undefined) this.promises.read(runId, lines);
  }

  #keys(org: number) {
    const { member, ownersSecret } = this.#orgs[org] ?? fail("there is no such org");
    return keyCalls(member.client().baseUrl, ownersSecret, this.#round.signal);
  }

  #ask(asked: Asked, waitSeconds: number): void {
    const { member } = this.#orgs[asked.org] ?? fail("there is no such org");
    const { pipeline, idempotencyKey } = asked;
    const round = this.#round;
    round.count("starts");
    const answer: Promise<void> = this.#tryIt("a start", async () => {
      const options = { waitSeconds, idempotencyKey };
      const attempt = await member.client().start({ pipeline }, options, round.signal);
      if (attempt.kind === "started") asked.promised.add(attempt.run.runId);
      else round.count("refusals");
      round.trace("answered", { idempotencyKey, kind: attempt.kind });
    }).finally(() => this.open.delete(answer));
    this.open.add(answer);
  }

  /** Does what may fail because of the disk, or because the service is killed under it, and for nothing else. */
  async #tryIt(what: string, act: () => Promise<unknown>): Promise<void> {
    const round = this.#round;
    const before = { fills: this.#fills, isFull: this.#world.disk.isFull };
    try {
      await act();
    } catch (error) {
      const text = describeError(error);
      round.trace(`${what} failed`, text);
      if (/can't be reached|connection|closed|stopping/i.test(text)) return;
      const mayBeFull = before.isFull || before.fills !== this.#fills || this.#world.disk.isFull;
      const isOfDisk = error instanceof PipelineError && this.#world.disk.fault.test(error.message);
      round.check(isOfDisk && mayBeFull, `${what} failed with a strange error`, text);
      round.check(saysWhatNext.test(text), `${what} failed without saying what to do`, text);
    }
  }
}

function fail(why: string): never {
  throw new Error(why);
}
