import { setTimeout as pause } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { followLog } from "../../../src/client/follow/followLog.ts";
import type { StartAttempt } from "../../../src/client/service/client.ts";
import { PipelineError } from "../../../src/contract/errors.ts";
import { utcDay } from "../../../src/contract/limits.ts";
import { isActive } from "../../../src/contract/runStatus.ts";
import { anySignal } from "../../../src/machine/anySignal.ts";
import { ChaosService, kill, type Member, type Row } from "../../chaos/chaosService.ts";
import { checkAlways, checkCount, checkPlaceIsFree } from "../../chaos/invariants.ts";
import { actOf, itPlays, pick, type Round } from "../../chaos/round.ts";
import { ToolCalls } from "../../chaos/toolCalls.ts";
import { isAlive } from "../../isAlive.ts";
import { programPipeline, untilCancelled } from "../../service/startedService.ts";
import { until } from "../../until.ts";

/** Ignores SIGTERM, and so does the orphan that it leaves. */
const stubborn = `process.on("SIGTERM", () => {});
const child = "process.on('SIGTERM', () => {}); setInterval(() => {}, 1e6)";
require("node:child_process").spawn(process.execPath, ["-e", child], { detached: true, stdio: "inherit" });
${untilCancelled}`;

const talking =
  "let n = 0; setInterval(() => { console.log('line ' + n++); if (n > 60) process.exit(); }, 20);";

const which = fc.nat(1000);

/** The tool's commands that are called. */
const toolCalls = ["run", "run long", "run --detach", "cancel", "cancel --mine", "list", "org"] as const;

/** One thing that happens to the service, its runners and its callers. Numbers are indexes into what exists at that moment. */
const act = fc.oneof(
  actOf(8, "start", {
    org: fc.nat(1),
    pipeline: fc.constantFrom("quick", "quick", "long", "long", "talking", "stubborn"),
    wait: fc.constantFrom(0, 2, 120),
    times: fc.constantFrom(1, 1, 1, 4),
  }),
  actOf(3, "start again", { which }),
  actOf(3, "cancel", { which }),
  actOf(1, "leave", { which }),
  actOf(5, "tool", { call: fc.constantFrom(...toolCalls), which }),
  actOf(2, "signal tool", { which, signal: fc.constantFrom("SIGINT", "SIGTERM", "SIGKILL", "SIGKILL") }),
  actOf(2, "kill service", {}),
  actOf(1, "stop service", { times: fc.constantFrom(1, 1, 2) }),
  actOf(3, "start service", { killAfter: fc.option(fc.nat(900), { nil: undefined, freq: 3 }) }),
  actOf(2, "kill runner", { which }),
  actOf(1, "freeze", { what: fc.constantFrom("service", "runner"), which, milliseconds: fc.nat(1500) }),
  actOf(2, "read log", { which }),
  // Sometimes long enough for something to happen: the invariants hold at any moment.
  actOf(3, "pause", { milliseconds: fc.nat(500) }),
);

type Act = typeof act extends fc.Arbitrary<infer T> ? T : never;

/** The free tier: what this machine's own org may. */
const freeTier = { parallelRuns: 1, runsPerDay: 50 } as const;
/** How long everything may take to come to rest, in milliseconds. */
const restWithin = 150_000;

/** Applies the acts to a service, and checks the invariants after each. */
class ProcessChaos {
  readonly #service: ChaosService;
  readonly #round: Round;
  readonly #members: readonly Member[];
  readonly #machine: Member;
  readonly #startRequests: StartRequests;
  readonly #tools: ToolCalls;
  readonly #promises: Promises;
  readonly #frozen = new Map<number, NodeJS.Timeout>();
  #wasKilled = false;

  static async begin(service: ChaosService, round: Round): Promise<ProcessChaos> {
    const members = [
      await service.member("one", { parallelRuns: 1, runsPerDay: 10 }),
      await service.member("two", { parallelRuns: 2, runsPerDay: 50 }),
    ];
    const machine = await service.member("This machine", freeTier);
    return new ProcessChaos(service, round, members, machine);
  }

  private constructor(service: ChaosService, round: Round, members: readonly Member[], machine: Member) {
    this.#service = service;
    this.#round = round;
    this.#members = members;
    this.#machine = machine;
    this.#startRequests = new StartRequests(round);
    this.#tools = new ToolCalls(service, round);
    this.#promises = new Promises(round);
  }

  get #everyone(): readonly Member[] {
    return [...this.#members, this.#machine];
  }

  #memberOf(run: Row | undefined): Member | undefined {
    return this.#everyone.find(({ orgId }) => orgId === run?.org_id);
  }

  async make(act: Act): Promise<void> {
    const service = this.#service;
    // Its current address, for the HTTP clients.
    await service.connection();
    switch (act.act) {
      case "start": {
        const member = pick(this.#members, act.org);
        for (let time = 0; member !== undefined && time < act.times; time++) {
          this.#startRequests.make(member, act.pipeline, act.wait);
        }
        break;
      }
      case "start again": {
        const request = pick(this.#startRequests.all, act.which);
        if (request !== undefined) this.#startRequests.ask(request, 0);
        break;
      }
      case "cancel": {
        const run = pick(await service.rows(), act.which);
        const member = this.#memberOf(run);
        if (run !== undefined && member !== undefined) await this.#promises.cancel(member, run.id);
        break;
      }
      case "leave":
        pick(this.#startRequests.all, act.which)?.leaving.abort(new Error("left"));
        break;
      case "tool":
        await this.#callTool(act);
        break;
      case "signal tool": {
        const call = pick(this.#tools.living, act.which);
        if (call !== undefined) this.#tools.signal(call, act.signal);
        break;
      }
      case "kill service":
        await this.#killService();
        break;
      case "stop service": {
        const pid = await service.livingPid();
        for (let time = 0; pid !== undefined && time < act.times; time++) kill(pid, "SIGTERM");
        if (act.times > 1) this.#wasKilled = true;
        break;
      }
      case "start service":
        await service.start(act.killAfter);
        break;
      case "kill runner": {
        const pid = pick(await this.#active(), act.which)?.runner_pid;
        if (typeof pid !== "number") break;
        kill(pid, "SIGKILL");
        this.#wasKilled = true;
        break;
      }
      case "freeze": {
        const runner = pick(await this.#active(), act.which)?.runner_pid;
        const pid = act.what === "service" ? await service.livingPid() : (runner ?? undefined);
        if (pid !== undefined) this.#freeze(pid, act.milliseconds);
        break;
      }
      case "read log": {
        const run = pick(await service.rows(), act.which);
        const member = this.#memberOf(run);
        if (run !== undefined && member !== undefined) await this.#promises.readLog(member, run.id);
        break;
      }
      case "pause":
        await pause(act.milliseconds);
        break;
      default:
        act satisfies never;
    }
    this.#promises.checkRows(await checkAlways(service, this.#everyone, this.#round));
    if ((await service.livingPid()) !== undefined && this.#frozen.size === 0) {
      for (const member of this.#members) await checkCount(service, member, this.#round);
    }
  }

  /** Cancels active runs until none is left, and checks every promise. */
  async finish(): Promise<void> {
    const service = this.#service;
    const round = this.#round;
    for (const pid of this.#frozen.keys()) this.#thaw(pid);
    round.trace("coming to rest");
    const look = async () => {
      await service.ensure();
      const active = await this.#active();
      const tools = this.#tools.living.map(({ words }) => words);
      const { open } = this.#startRequests;
      if (active.length === 0 && open === 0 && tools.length === 0) return undefined;
      for (const run of active) {
        const member = this.#memberOf(run);
        if (member !== undefined) await this.#promises.cancel(member, run.id);
      }
      return { active, tools, startRequests: open };
    };
    if (!(await round.comesToRest("it doesn't come to rest", restWithin, look))) return;
    const rows = await checkAlways(service, this.#everyone, round);
    round.checkSame([...(await service.runsWithProcesses())], [], "processes outlive their runs");
    this.#startRequests.check(rows);
    const today = rows.filter(
      ({ org_id, day }) => org_id === this.#machine.orgId && day === utcDay(Date.now()),
    );
    this.#tools.check(rows, today.length >= freeTier.runsPerDay);
    this.#checkAllKnown(rows);
    await this.#promises.check(rows, this.#wasKilled);
    for (const member of this.#everyone) {
      await checkCount(service, member, round);
      await checkPlaceIsFree(service, member, round);
    }
  }

  /** Each call of the tool has a pipeline of its own, so that its run can be told from others. */
  async #callTool({ call, which }: Extract<Act, { act: "tool" }>): Promise<void> {
    const name = `tool-${this.#tools.all.length}`;
    switch (call) {
      case "run":
      case "run long":
      case "run --detach":
        await this.#service.write(name, programPipeline(call === "run long" ? untilCancelled : "", "5s"));
        this.#tools.make(call === "run --detach" ? ["run", name, "--detach"] : ["run", name], name);
        break;
      case "cancel": {
        const own = (await this.#service.rows()).filter(({ org_id }) => org_id === this.#machine.orgId);
        const run = pick(own, which);
        if (run !== undefined) this.#tools.make(["runs", "cancel", run.id]);
        break;
      }
      case "cancel --mine":
        this.#tools.make(["runs", "cancel", "--mine"]);
        break;
      case "list":
        this.#tools.make(["runs", "list"]);
        break;
      case "org":
        this.#tools.make(["org"]);
        break;
      default:
        call satisfies never;
    }
  }

  /** kill -9 of a service. A successor that answers has ended the active runs it left. */
  async #killService(): Promise<void> {
    const service = this.#service;
    const pid = await service.livingPid();
    if (pid === undefined) return;
    kill(pid, "SIGKILL");
    this.#wasKilled = true;
    await until(async () => !isAlive(pid));
    const killedAt = Date.now();
    const left = (await this.#active()).filter(({ created_at }) => created_at < killedAt).map(({ id }) => id);
    if (!(await service.start())) return;
    const still = (await this.#active()).filter(({ id }) => left.includes(id));
    this.#round.checkSame(still, [], "a run is active that no runner works on");
    const living = await service.runsWithProcesses();
    const orphans = left.filter((id) => living.has(id));
    this.#round.checkSame(orphans, [], "a process has outlived its service");
  }

  /** Every run belongs to a start request or to a call of the tool. */
  #checkAllKnown(rows: readonly Row[]): void {
    const startRequests = new Set(this.#startRequests.all.map(({ idempotencyKey }) => idempotencyKey));
    const pipelines = new Set(this.#tools.all.map(({ pipeline }) => pipeline));
    const strange = rows.filter(
      ({ idempotency_key, pipeline }) =>
        !startRequests.has(idempotency_key ?? "") && !pipelines.has(pipeline),
    );
    this.#round.checkSame(strange, [], "a run is there that nobody wished for");
  }

  async #active(): Promise<readonly Row[]> {
    return (await this.#service.rows()).filter(({ stopped_at }) => stopped_at === null);
  }

  #freeze(pid: number, milliseconds: number): void {
    kill(pid, "SIGSTOP");
    clearTimeout(this.#frozen.get(pid));
    this.#frozen.set(
      pid,
      setTimeout(() => this.#thaw(pid), milliseconds),
    );
  }

  #thaw(pid: number): void {
    clearTimeout(this.#frozen.get(pid));
    this.#frozen.delete(pid);
    kill(pid, "SIGCONT");
  }
}

/** A start that was asked for over HTTP, perhaps more than once. */
interface AskedStart {
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

/** The starts that clients have asked for, each of which may make one run at most. */
class StartRequests {
  readonly #round: Round;
  readonly all: AskedStart[] = [];
  /** How many requests have no answer yet. */
  open = 0;

  constructor(round: Round) {
    this.#round = round;
  }

  make(member: Member, pipeline: string, waitSeconds: number): void {
    const request: AskedStart = {
      member,
      pipeline,
      idempotencyKey: `start-${this.all.length}`,
      leaving: new AbortController(),
      promised: new Set(),
      refused: new Set(),
      answers: 0,
      asked: 0,
    };
    this.all.push(request);
    this.ask(request, waitSeconds);
  }

  ask(request: AskedStart, waitSeconds: number): void {
    request.asked += 1;
    this.open += 1;
    void this.#ask(request, waitSeconds).finally(() => {
      this.open -= 1;
    });
  }

  async #ask(request: AskedStart, waitSeconds: number): Promise<void> {
    const { member, pipeline, idempotencyKey, leaving } = request;
    const signal = anySignal([leaving.signal, this.#round.signal]);
    let attempt: StartAttempt;
    try {
      attempt = await member.client().start({ pipeline }, { waitSeconds, idempotencyKey }, signal);
    } catch (error) {
      this.#round.trace(`${idempotencyKey}: no answer`, String(error));
      // The caller has left, or the service was killed, stopped or frozen under it.
      const isNoAnswer =
        leaving.signal.aborted ||
        (error instanceof PipelineError && error.type === "out-of-reach") ||
        /stopping/.test(String(error));
      this.#round.check(isNoAnswer, "a start failed with a strange error", String(error));
      return;
    }
    request.answers += 1;
    if (attempt.kind === "started") {
      request.promised.add(attempt.run.runId);
      this.#round.trace(`${idempotencyKey}: started`, attempt.run.runId);
    } else {
      request.refused.add(attempt.refusal.scope);
      this.#round.trace(`${idempotencyKey}: refused`, attempt.refusal);
    }
  }

  /** Checks what replies have said, once all are answered. */
  check(rows: readonly Row[]): void {
    const round = this.#round;
    for (const { idempotencyKey, member, promised, refused, asked, answers } of this.all) {
      const own = rows
        .filter((row) => row.idempotency_key === idempotencyKey && row.actor === member.keyId)
        .map(({ id }) => id);
      const facts = { idempotencyKey, own, promised: [...promised], refused: [...refused], asked, answers };
      round.check(own.length <= 1 && promised.size <= 1, "one start request has made two runs", facts);
      const isKept = [...promised].every((id) => own.includes(id));
      round.check(isKept, "a run that was promised is not there", facts);
      const isRefused = promised.size === 0 && asked === answers;
      round.check(!isRefused || own.length === 0, "a refused start has made a run", facts);
    }
  }
}

/** What replies have promised besides runs: how a run ended, and what its log says. */
class Promises {
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
    for (const { id, status, stopped_at } of rows) if (stopped_at !== null) this.#promiseEnd(id, status);
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
    const onGap = (first: number, last: number) =>
      this.#round.check(false, "a log has a gap", { runId, first, last });
    await followLog(member.client(), runId, { follow: false, onGap }, tell, this.#round.signal);
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

describe("a service, its runners and the tool", () => {
  itPlays("keep every promise over kill -9, signals and stops of each at any point", {
    name: "processes",
    act,
    mostActs: 40,
    async play(planned, round) {
      await using service = await ChaosService.begin(round);
      await service.write("quick", programPipeline("console.log('quick')"));
      await service.write("long", programPipeline(untilCancelled, "5s"));
      await service.write("talking", programPipeline(talking, "5s"));
      await service.write("stubborn", programPipeline(stubborn, "5s"));
      await service.ensure();
      const chaos = await ProcessChaos.begin(service, round);
      for (const one of round.acts(planned)) await chaos.make(one);
      await chaos.finish();
    },
  });
});
