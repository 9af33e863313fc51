import { setTimeout as pause } from "node:timers/promises";
import fc from "fast-check";
import { MachineStarts } from "../../chaos/machines/machineStarts.ts";
import { MachineTeam } from "../../chaos/machines/machineTeam.ts";
import { RowChecks, watchOrder } from "../../chaos/machines/rowChecks.ts";
import { itPlays, pick, type Round } from "../../chaos/round.ts";
import { postgresFolder } from "../../postgres/installPostgres.ts";

/** `which` and `server` are indexes, taken modulo the number of programs. */
const which = fc.nat({ max: 1000 });
const program = fc.constantFrom("server" as const, "runner" as const);

/** One thing that happens to the servers, the runners, their database, the lines between them, or the starts of their orgs. */
const act = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({
      act: fc.constant("start" as const),
      // Some orgs start so many runs that starts wait for each other and use up the day.
      org: fc.oneof({ weight: 3, arbitrary: fc.nat({ max: 3 }) }, { weight: 2, arbitrary: which }),
      server: which,
      wait: fc.constantFrom(0, 5, 30),
      times: fc.integer({ min: 1, max: 6 }),
      seconds: fc.constantFrom(0.05, 0.3, 1),
    }),
  },
  { weight: 3, arbitrary: fc.record({ act: fc.constant("cancel" as const), which, server: which }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constant("leave" as const), which }) },
  { weight: 4, arbitrary: fc.record({ act: fc.constant("kill" as const), what: program, which }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constant("upgrade all" as const), what: program }) },
  {
    weight: 2,
    arbitrary: fc.record({
      act: fc.constant("suspend" as const),
      what: program,
      which,
      seconds: fc.constantFrom(0.5, 25, 3, 12),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      act: fc.constant("break line" as const),
      of: fc.constantFrom("runner" as const, "clients" as const, "database" as const),
      which,
      how: fc.constantFrom("cut" as const, "silent" as const),
      seconds: fc.constantFrom(0, 25, 3, 12),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      act: fc.constant("set clock" as const),
      what: program,
      which,
      hours: fc.integer({ min: -30, max: 30 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ act: fc.constant("restart database" as const) }) },
  {
    weight: 6,
    arbitrary: fc.record({ act: fc.constant("pause" as const), seconds: fc.constantFrom(0.1, 0.5, 2) }),
  },
);

type MachineAct = typeof act extends fc.Arbitrary<infer Act> ? Act : never;

/** How long everything may take to come to rest, in milliseconds: a lease, a grace time, and what is left of the queue. */
const restWithin = 120_000;

/** Applies faults to a team's machines, and checks the invariants. */
class MachineChaos implements AsyncDisposable {
  readonly #round: Round;
  readonly #team: MachineTeam;
  readonly #starts: MachineStarts;
  readonly #checks: RowChecks;
  readonly #later = new Set<Promise<void>>();

  static async begin(native: string, round: Round): Promise<MachineChaos> {
    const team = await MachineTeam.begin(native, round);
    await watchOrder(team.db);
    return new MachineChaos(round, team);
  }

  private constructor(round: Round, team: MachineTeam) {
    this.#round = round;
    this.#team = team;
    this.#starts = new MachineStarts(round, team);
    this.#checks = new RowChecks(round, team);
  }

  async make(act: MachineAct): Promise<void> {
    const { members, lines } = this.#team;
    switch (act.act) {
      case "start": {
        const member = pick(members, act.org);
        for (let time = 0; member !== undefined && time < act.times; time++) {
          this.#starts.ask(member, act.server + time, act.wait, act.seconds);
        }
        break;
      }
      case "cancel": {
        const run = pick(await this.#checks.active(), act.which);
        const member = members.find(({ orgId }) => orgId === run?.org_id);
        if (run === undefined || member === undefined) break;
        this.#after(0, () => this.#starts.cancel(member, act.server, run.id));
        break;
      }
      case "leave":
        this.#starts.leave(act.which);
        break;
      case "kill":
        this.#program(act)?.signal("SIGKILL");
        break;
      case "upgrade all":
        this.#after(0, () => this.#team.upgrade(act.what));
        break;
      case "suspend": {
        const program = this.#program(act);
        program?.signal("SIGSTOP");
        this.#after(act.seconds, () => program?.signal("SIGCONT"));
        break;
      }
      case "break line": {
        const line = pick(lines[act.of], act.which);
        line?.become(act.how);
        this.#after(act.seconds, () => line?.become("open"));
        break;
      }
      case "set clock":
        this.#program(act)?.setClock(act.hours);
        break;
      case "restart database":
        await this.#team.restartDatabase();
        break;
      case "pause":
        await pause(act.seconds * 1000);
        break;
      default:
        act satisfies never;
    }
    await this.#checks.check();
  }

  /** Lets everything come to rest by itself, and then checks all that was ever answered. */
  async finish(): Promise<void> {
    this.#round.trace("coming to rest");
    await Promise.all(this.#later);
    this.#round.trace("nothing happens any more");
    await this.#round.comesToRest("it doesn't come to rest", restWithin, async () => {
      await this.#checks.check();
      const active = await this.#checks.active();
      const { open } = this.#starts;
      return active.length === 0 && open === 0 ? undefined : { active, open };
    });
    this.#round.trace("at rest");
    for (const server of this.#team.servers) {
      await server.ready();
      // It may notice only now that its connections are dead.
      await this.#round.comesToRest("a server isn't ready, when all is done", restWithin, async () =>
        (await fetch(`${server.url}/readyz`)).ok ? undefined : server.url,
      );
    }
    const rows = await this.#checks.finish();
    this.#round.trace("ends", Object.fromEntries(ends(rows)));
    await this.#starts.finish(new Set(rows.map(({ id }) => id)));
  }

  #program({ what, which }: { readonly what: "server" | "runner"; readonly which: number }) {
    return pick(what === "server" ? this.#team.servers : this.#team.runners, which);
  }

  #after(seconds: number, act: () => unknown): void {
    const done = pause(seconds * 1000).then(async () => void (await act()));
    this.#later.add(done);
    void done.finally(() => this.#later.delete(done));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#starts.leaveAll();
    await this.#team[Symbol.asyncDispose]();
  }
}

function ends(rows: readonly { readonly status: string; readonly reason: string | null }[]) {
  const grouped = Map.groupBy(rows, ({ status, reason }) => (status === "lost" ? `lost: ${reason}` : status));
  return [...grouped].map(([end, { length }]) => [end, length] as const);
}

const native = postgresFolder();
if (native !== undefined) {
  describe("many servers and runners on one PostgreSQL", () => {
    itPlays(
      "keep every promise over kill -9, SIGSTOP and upgrades of any, broken lines, and crashes of the database",
      {
        name: "machines",
        act,
        mostActs: 60,
        async play(planned, round) {
          await using chaos = await MachineChaos.begin(native, round);
          for (const one of round.acts(planned)) await chaos.make(one);
          await chaos.finish();
        },
      },
    );
  });
}
