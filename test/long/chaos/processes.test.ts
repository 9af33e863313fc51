import { setTimeout as pause } from "node:timers/promises";
import fc from "fast-check";
import { utcDay } from "../../../src/contract/day.ts";
import { ChaosService, kill, type Member, type Row } from "../../chaos/chaosService.ts";
import { checkAlways, checkCount, checkPlaceIsFree } from "../../chaos/invariants.ts";
import { Promises } from "../../chaos/processes/promises.ts";
import { StartRequests } from "../../chaos/processes/startRequests.ts";
import { itPlays, pick, type Round } from "../../chaos/round.ts";
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
  {
    weight: 8,
    arbitrary: fc.record({
      act: fc.constant("start" as const),
      org: fc.nat(1),
      pipeline: fc.constantFrom("quick", "quick", "long", "long", "talking", "stubborn"),
      wait: fc.constantFrom(0, 2, 120),
      times: fc.constantFrom(1, 1, 1, 4),
    }),
  },
  { weight: 3, arbitrary: fc.record({ act: fc.constant("start again" as const), which }) },
  { weight: 3, arbitrary: fc.record({ act: fc.constant("cancel" as const), which }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constant("leave" as const), which }) },
  {
    weight: 5,
    arbitrary: fc.record({ act: fc.constant("tool" as const), call: fc.constantFrom(...toolCalls), which }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      act: fc.constant("signal tool" as const),
      which,
      signal: fc.constantFrom("SIGINT" as const, "SIGTERM" as const, "SIGKILL" as const, "SIGKILL" as const),
    }),
  },
  { weight: 2, arbitrary: fc.record({ act: fc.constant("kill service" as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({ act: fc.constant("stop service" as const), times: fc.constantFrom(1, 1, 2) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      act: fc.constant("start service" as const),
      killAfter: fc.option(fc.nat(900), { nil: undefined, freq: 3 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ act: fc.constant("kill runner" as const), which }) },
  {
    weight: 1,
    arbitrary: fc.record({
      act: fc.constant("freeze" as const),
      what: fc.constantFrom("service" as const, "runner" as const),
      which,
      milliseconds: fc.nat(1500),
    }),
  },
  { weight: 2, arbitrary: fc.record({ act: fc.constant("read log" as const), which }) },
  // Sometimes long enough for something to happen: the invariants hold at any moment.
  { weight: 3, arbitrary: fc.record({ act: fc.constant("pause" as const), milliseconds: fc.nat(500) }) },
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
    const { environment, project: folder } = service;
    this.#tools = new ToolCalls({ round, environment, folder, rows: () => service.rows() });
    this.#promises = new Promises(round);
  }

  get #everyone(): readonly Member[] {
    return [...this.#members, this.#machine];
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
        const member = this.#everyone.find(({ orgId }) => orgId === run?.org_id);
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
        if (call === undefined) break;
        this.#tools.signal(call, act.signal);
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
        const member = this.#everyone.find(({ orgId }) => orgId === run?.org_id);
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
      const { areOpen } = this.#startRequests;
      if (active.length === 0 && !areOpen && tools.length === 0) return undefined;
      for (const { id, org_id } of active) {
        const member = this.#everyone.find(({ orgId }) => orgId === org_id);
        if (member !== undefined) await this.#promises.cancel(member, id);
      }
      return { active, tools, startRequests: areOpen };
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
