import { setTimeout as pause } from "node:timers/promises";
import { PipelineError } from "../../../src/contract/errors.ts";
import { programPipeline, untilCancelled } from "../../service/startedService.ts";
import { BadLine, type LineFault } from "../badLine.ts";
import { type ChaosService, kill, type Member } from "../chaosService.ts";
import { checkAlways, checkCount, checkPlaceIsFree } from "../invariants.ts";
import type { Round } from "../round.ts";
import { ToolCalls } from "../toolCalls.ts";
import type { Act } from "./acts.ts";
import { ClientCalls } from "./clientCalls.ts";
import { Watched } from "./watched.ts";

/** How long everything may take to come to rest, in milliseconds. */
const restWithin = 90_000;

const programs = {
  quick: "console.log('quick')",
  talking: "let n = 0; setInterval(() => { console.log('line ' + n++); if (n > 40) process.exit(); }, 25);",
  long: untilCancelled,
} as const;

/** Calls a service over a bad line, and checks that every caller was told the truth, or that the outcome is unknown. */
export class NetworkChaos implements AsyncDisposable {
  readonly #service: ChaosService;
  readonly #round: Round;
  readonly #members: readonly Member[];
  readonly #proxy: BadLine;
  readonly #calls: ClientCalls;
  readonly #tools: readonly ToolCalls[];
  readonly #screens: readonly Watched[];
  readonly #faults: LineFault[];
  #pipelines = 0;

  static async begin(service: ChaosService, round: Round): Promise<NetworkChaos> {
    const members = [
      await service.member("one", { parallelRuns: 1, runsPerDay: 12 }),
      await service.member("two", { parallelRuns: 3, runsPerDay: 200 }),
    ];
    const faults: LineFault[] = [];
    const next = (): LineFault => {
      const fault = faults.shift() ?? { kind: "none" };
      if (fault.kind !== "none") round.trace("a bad connection", fault);
      return fault;
    };
    const proxy = await BadLine.open({ target: () => service.url, next });
    return new NetworkChaos(service, round, members, proxy, faults);
  }

  private constructor(
    service: ChaosService,
    round: Round,
    members: readonly Member[],
    proxy: BadLine,
    faults: LineFault[],
  ) {
    this.#service = service;
    this.#round = round;
    this.#members = members;
    this.#proxy = proxy;
    this.#faults = faults;
    this.#calls = new ClientCalls(proxy.url, round);
    this.#screens = members.map((member) => new Watched(this.#calls.client(member), member.orgId, round));
    this.#tools = members.map(
      ({ secret }) =>
        new ToolCalls({
          round,
          environment: {
            ...service.environment,
            PIPELINE_BASE_URL: proxy.url.href,
            PIPELINE_API_KEY: secret,
          },
          folder: service.project,
          rows: () => service.rows(),
        }),
    );
  }

  async make(act: Act): Promise<void> {
    const service = this.#service;
    if ("line" in act) this.#faults.push(...act.line);
    switch (act.act) {
      case "start": {
        const member = this.#member(act.org);
        this.#calls.start(member, await this.#pipeline(programs[act.pipeline]), act);
        break;
      }
      case "tool": {
        const tools = this.#tools[act.org % this.#tools.length];
        if (act.call === "run" || act.call === "run --detach") {
          const name = await this.#pipeline(programs.quick);
          tools?.make(act.call === "run" ? ["run", name] : ["run", name, "--detach"], name);
        } else {
          tools?.make(act.call === "list" ? ["runs", "list"] : ["runs", "cancel", "--mine"]);
        }
        break;
      }
      case "cancel": {
        const rows = await service.rows();
        const row = rows[act.which % Math.max(1, rows.length)];
        const member = this.#members.find(({ orgId }) => orgId === row?.org_id);
        if (row !== undefined && member !== undefined) this.#calls.cancel(member, row.id);
        break;
      }
      case "cancel mine":
        this.#calls.cancelMine(this.#member(act.org));
        break;
      case "cut":
        this.#proxy.cut();
        break;
      case "outage":
        this.#proxy.setOut(true);
        await pause(act.milliseconds);
        this.#proxy.setOut(false);
        break;
      case "kill service": {
        await pause(act.after);
        const pid = await service.livingPid();
        if (pid === undefined) break;
        kill(pid, "SIGKILL");
        this.#round.count("kills");
        await service.ensure();
        break;
      }
      case "pause":
        await pause(act.milliseconds);
        break;
      default:
        act satisfies never;
    }
    await checkAlways(service, this.#members, this.#round);
    for (const member of this.#members) await checkCount(service, member, this.#round);
  }

  /** Mends the line, cancels active runs until none is left, and checks what every caller was told. */
  async finish(): Promise<void> {
    const service = this.#service;
    const round = this.#round;
    this.#faults.length = 0;
    this.#proxy.cut();
    round.trace("coming to rest");
    const look = async () => {
      const active = (await service.rows()).filter(({ stopped_at }) => stopped_at === null);
      const tools = this.#tools.flatMap(({ living }) => living.map(({ words }) => words));
      const { areOpen } = this.#calls;
      if (active.length === 0 && !areOpen && tools.length === 0) return undefined;
      for (const { id, org_id } of active) {
        const member = this.#members.find(({ orgId }) => orgId === org_id);
        if (member !== undefined) await this.#cancelSeen(member, id);
      }
      return { active, tools, calls: areOpen };
    };
    if (!(await round.comesToRest("it doesn't come to rest", restWithin, look))) return;
    const rows = await checkAlways(service, this.#members, round);
    round.count("runs", rows.length);
    round.checkSame([...(await service.runsWithProcesses())], [], "processes outlive their runs");
    await this.#calls.check(rows, (name) => this.#proxy.hasSwallowed(`"pipeline":"${name}"`));
    for (const [index, { orgId, limits }] of this.#members.entries()) {
      const own = rows.filter(({ org_id }) => org_id === orgId);
      this.#tools[index]?.check(rows, own.length >= limits.runsPerDay);
      await this.#screens[index]?.check(rows);
    }
    for (const member of this.#members) {
      await checkCount(service, member, round);
      await checkPlaceIsFree(service, member, round);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const screen of this.#screens) await screen[Symbol.asyncDispose]();
    await this.#proxy[Symbol.asyncDispose]();
  }

  /** Cancels a run that was in the table a moment ago. It isn't any more where its caller had left unheard. */
  async #cancelSeen(member: Member, runId: string): Promise<void> {
    try {
      await member.client().cancel(runId, this.#round.signal);
    } catch (error) {
      const isUnknown = error instanceof PipelineError && error.type === "not-found";
      const isThere = (await this.#service.rows()).some(({ id }) => id === runId);
      if (!isUnknown || isThere) throw error;
    }
  }

  #member(which: number): Member {
    const member = this.#members[which % this.#members.length];
    if (member === undefined) throw new Error("there is no org");
    return member;
  }

  /** A pipeline for one start alone, so that its run can be told from others. */
  async #pipeline(code: string): Promise<string> {
    const name = `net-${this.#pipelines++}`;
    await this.#service.write(name, programPipeline(code, "8s"));
    return name;
  }
}
