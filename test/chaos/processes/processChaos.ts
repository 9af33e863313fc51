import { setTimeout as pause } from "node:timers/promises";
import { utcDay } from "../../../src/contract/day.ts";
import { isAlive } from "../../isAlive.ts";
import { programPipeline, untilCancelled } from "../../service/startedService.ts";
import { until } from "../../until.ts";
import { type ChaosService, kill, type Member, type Row } from "../chaosService.ts";
import { checkAlways, checkCount, checkPlaceIsFree } from "../invariants.ts";
import { pick, type Round } from "../round.ts";
import { StartRequests } from "../startRequests.ts";
import { ToolCalls } from "../toolCalls.ts";
import type { Act } from "./acts.ts";
import { Promises } from "./promises.ts";

/** The free tier: what this machine's own org may. */
const freeTier = { parallelRuns: 1, runsPerDay: 50 } as const;
/** How long everything may take to come to rest, in milliseconds. */
const restWithin = 90_000;

/** Applies the acts to a service, and checks the invariants after each. */
export class ProcessChaos {
  readonly #service: ChaosService;
  readonly #round: Round;
  readonly #members: readonly Member[];
  readonly #machine: Member;
  readonly #owner: Member;
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
    return new ProcessChaos(
      service,
      round,
      members,
      machine,
      await service.member("one", members[0]?.limits ?? freeTier, "owner"),
    );
  }

  private constructor(
    service: ChaosService,
    round: Round,
    members: readonly Member[],
    machine: Member,
    owner: Member,
  ) {
    this.#service = service;
    this.#round = round;
    this.#members = members;
    this.#machine = machine;
    this.#owner = owner;
    this.#startRequests = new StartRequests(round);
    const { environment, project: folder } = service;
    this.#tools = new ToolCalls({ round, environment, folder, rows: () => service.rows() });
    this.#promises = new Promises(service, round);
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
        if (act.signal === "SIGKILL") this.#round.count("kills");
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
        if (act.killAfter !== undefined) this.#round.count("kills");
        await service.start(act);
        break;
      case "kill runner": {
        const pid = pick(await this.#active(), act.which)?.runner_pid;
        if (typeof pid !== "number") break;
        kill(pid, "SIGKILL");
        this.#wasKilled = true;
        this.#round.count("kills");
        break;
      }
      case "freeze": {
        const runner = pick(await this.#active(), act.which)?.runner_pid;
        const pid = act.what === "service" ? await service.livingPid() : (runner ?? undefined);
        if (pid !== undefined) this.#freeze(pid, act.milliseconds);
        break;
      }
      case "revoke":
        await this.#promises.revoke(this.#owner);
        break;
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
    round.count("runs", rows.length);
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
    this.#round.count("kills");
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
