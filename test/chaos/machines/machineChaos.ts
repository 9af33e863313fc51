import { randomUUID } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import * as z from "zod/mini";
import { everyOrg } from "../../../src/contract/roles.ts";
import { idMaker } from "../../../src/service/store/ids.ts";
import { createKey } from "../../../src/service/store/keys.ts";
import { type OpenPostgres, openPostgres } from "../../../src/service/store/postgres/openPostgres.ts";
import { freePort, StartedPostgres } from "../../postgres/startedPostgres.ts";
import type { Round } from "../round.ts";
import type { MachineAct } from "./acts.ts";
import { MachineProgram } from "./machinePrograms.ts";

const counts = { servers: 3, runners: 4, orgs: 6, runsPerDay: 12 } as const;
/** How long everything may take to come to rest, in milliseconds: a lease, a grace time, and what is left of the queue. */
const restWithin = 120_000;

interface Member {
  readonly orgId: string;
  readonly apiKey: string;
  /** The steps of this org hold it while any of their processes lives, and write here when another one does. */
  readonly lock: string;
  readonly overlaps: string;
}

interface AskedStart {
  readonly member: Member;
  readonly leaving: AbortController;
  /** The run, `refused`, or undefined while it is open, or was left or given up. */
  outcome: string | undefined;
  done: Promise<void>;
}

/** A team's servers, runners and database, what happens to them, and what has to hold whatever does. */
export class MachineChaos implements AsyncDisposable {
  readonly #round: Round;
  readonly #postgres: StartedPostgres;
  #database: OpenPostgres;
  readonly #members: Member[] = [];
  readonly #servers: MachineProgram[] = [];
  readonly #runners: MachineProgram[] = [];
  readonly #asked: AskedStart[] = [];
  readonly #timers = new Set<Promise<void>>();

  static async begin(native: string, round: Round): Promise<MachineChaos> {
    const postgres = await StartedPostgres.start(native, round.signal);
    const url = postgres.url({ user: `app:${encodeURIComponent(postgres.password)}` });
    const chaos = new MachineChaos(round, postgres, await openPostgres(url, () => {}));
    await chaos.#start(url);
    return chaos;
  }

  private constructor(round: Round, postgres: StartedPostgres, database: OpenPostgres) {
    this.#round = round;
    this.#postgres = postgres;
    this.#database = database;
  }

  async #start(url: string): Promise<void> {
    const { db } = this.#database;
    const environment = { ...process.env, ...this.#round.environment };
    const key = (orgName: string, role: "member" | "runner") =>
      createKey(db, { orgName, role }, { now: Date.now, makeId: idMaker(Date.now) });
    for (let number = 0; number < counts.orgs; number++) {
      const { orgId, secret } = await key(`org ${number}`, "member");
      const file = (name: string) => join(this.#round.folder, `${number}.${name}`);
      this.#members.push({ orgId, apiKey: secret, lock: file("lock"), overlaps: file("overlaps") });
      await writeFile(file("overlaps"), "");
    }
    await db.updateTable("orgs").set({ runs_per_day: counts.runsPerDay }).execute();
    for (let number = 0; number < counts.servers; number++) {
      // It comes back at its port, as behind a name.
      const port = String(await freePort());
      this.#servers.push(new MachineProgram(["serve", "--database", url, "--port", port], environment));
    }
    await Promise.all(this.#servers.map(({ ready }) => ready));
    const runnerKey = (await key(everyOrg, "runner")).secret;
    for (let number = 0; number < counts.runners; number++) {
      const service = this.#servers[number % counts.servers]?.url ?? "";
      const words = ["runner", "--service", service, "--label", `r${number}`, "--slots", "2"];
      this.#runners.push(new MachineProgram(words, { ...environment, PIPELINE_API_KEY: runnerKey }));
    }
    await Promise.all(this.#runners.map(({ ready }) => ready));
  }

  async make(act: MachineAct): Promise<void> {
    switch (act.act) {
      case "start": {
        const member = pick(this.#members, act.org);
        for (let time = 0; member !== undefined && time < act.times; time++) {
          this.#ask(member, act.server + time, act.wait, act.seconds);
        }
        break;
      }
      case "cancel": {
        const run = pick(await this.#active(), act.which);
        const member = this.#members.find(({ orgId }) => orgId === run?.org_id);
        if (run === undefined || member === undefined) break;
        this.#later(
          0,
          async () => void (await this.#request(member, act.server, "POST", `runs/${run.id}/cancel`)),
        );
        break;
      }
      case "leave":
        pick(this.#asked, act.which)?.leaving.abort();
        break;
      case "kill server":
      case "kill runner": {
        this.#round.count("kills");
        pick(act.act === "kill server" ? this.#servers : this.#runners, act.which)?.signal("SIGKILL");
        break;
      }
      case "upgrade server":
        pick(this.#servers, act.which)?.signal("SIGTERM");
        break;
      case "suspend": {
        const program = pick(act.what === "server" ? this.#servers : this.#runners, act.which);
        program?.signal("SIGSTOP");
        this.#later(act.seconds * 1000, async () => program?.signal("SIGCONT"));
        break;
      }
      case "restart database":
        await this.#postgres.stop();
        await this.#postgres.restart();
        break;
      case "pause":
        await pause(act.seconds * 1000);
        break;
      default:
        act satisfies never;
    }
    await this.#check();
  }

  /** Lets everything come to rest by itself, and then checks all that was ever answered. */
  async finish(): Promise<void> {
    this.#round.trace("coming to rest");
    await Promise.all(this.#timers);
    const until = performance.now() + restWithin;
    for (;;) {
      await this.#check();
      const active = await this.#active();
      const open = this.#asked.filter(
        ({ outcome, leaving }) => outcome === undefined && !leaving.signal.aborted,
      );
      if (active.length === 0 && open.length === 0) break;
      if (performance.now() > until) {
        this.#round.check(false, "it doesn't come to rest", { active, open: open.length });
        break;
      }
      await pause(200);
    }
    await Promise.all(this.#asked.map(({ done }) => done));
    const rows = await this.#rows();
    this.#round.count("runs", rows.length);
    const ids = new Set(rows.map(({ id }) => id));
    for (const { outcome } of this.#asked) {
      if (outcome === undefined || outcome === "refused") continue;
      this.#round.check(ids.has(outcome), "a run that was answered is gone", { outcome });
    }
    await this.#checkLogs();
    const waiting = await this.#database.db.selectFrom("waiters").selectAll().execute();
    this.#round.checkSame(
      waiting.filter(({ alive_until }) => alive_until > Date.now() + 5_000),
      [],
      "someone is still in the queue",
    );
  }

  /** What holds at every moment. */
  async #check(): Promise<void> {
    const rows = await this.#rows();
    for (const { orgId, overlaps } of this.#members) {
      const own = rows.filter(({ org_id }) => org_id === orgId);
      const active = own.filter(({ stopped_at }) => stopped_at === null);
      this.#round.check(active.length <= 1, "two runs of an org are active", active);
      for (const [day, { length }] of Map.groupBy(own, (row) => row.day)) {
        this.#round.check(length <= counts.runsPerDay, "more runs than the day may have", { day, length });
      }
      const overlapping = await readFile(overlaps, "utf8");
      this.#round.check(overlapping === "", "two runs of an org had processes at once", { overlapping });
    }
    const keys = rows.map(({ idempotency_key }) => idempotency_key);
    this.#round.check(new Set(keys).size === keys.length, "one start made two runs");
  }

  /** Each log is whole as far as it goes: no entry is missing or there twice. */
  async #checkLogs(): Promise<void> {
    const chunks = await this.#database.db
      .selectFrom("log_chunks")
      .select(["run_id", "first", "entries"])
      .orderBy("run_id")
      .orderBy("first")
      .execute();
    for (const [runId, of] of Map.groupBy(chunks, ({ run_id }) => run_id)) {
      let next = 1;
      for (const { first, entries } of of) {
        this.#round.check(first === next, "a log has a gap or an entry twice", { runId, first, next });
        next = first + entries;
      }
    }
  }

  #ask(member: Member, server: number, wait: number, seconds: number): void {
    this.#round.count("starts");
    const asked: AskedStart = {
      member,
      leaving: new AbortController(),
      outcome: undefined,
      done: Promise.resolve(),
    };
    const name = `p${this.#asked.length}`;
    const command = `exec 9>>${member.lock}; flock -n 9 || echo ${name} >> ${member.overlaps}; echo begun; sleep ${seconds}; echo done`;
    const text = `resources:\n  shell: { type: cli }\nsteps:\n  - use: shell\n    run: ${JSON.stringify(command)}\n`;
    const body = { pipeline: name, project: "shop", definition: { path: `pipelines/${name}.yaml`, text } };
    const headers = { "idempotency-key": randomUUID(), ...(wait > 0 ? { prefer: `wait=${wait}` } : {}) };
    asked.done = this.#request(member, server, "POST", "runs", {
      body,
      headers,
      signal: asked.leaving.signal,
    }).then((reply) => {
      if (reply?.status === 201) asked.outcome = startedSchema.parse(reply.body)["run-id"];
      if (reply?.status === 429) {
        this.#round.count("refusals");
        asked.outcome = "refused";
      }
      if (reply === undefined) asked.leaving.abort();
    });
    this.#asked.push(asked);
  }

  /** Asks one server after the other, as a client behind a balancer does, until one answers. @returns undefined when it gives up. */
  async #request(
    { apiKey }: Member,
    first: number,
    method: string,
    path: string,
    {
      body,
      headers = {},
      signal,
    }: { body?: unknown; headers?: Record<string, string>; signal?: AbortSignal } = {},
  ): Promise<{ readonly status: number; readonly body: unknown } | undefined> {
    for (let attempt = 0; attempt < 200 && signal?.aborted !== true; attempt++) {
      const url = pick(this.#servers, first + attempt)?.url;
      try {
        if (url === undefined) throw new Error("it isn't there");
        const timeout = AbortSignal.timeout(45_000);
        const reply = await fetch(`${url}/api/${path}`, {
          method,
          headers: { "x-api-key": apiKey, ...headers },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
          signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
        });
        const text = await reply.text();
        if (reply.status < 500) return { status: reply.status, body: JSON.parse(text) };
        this.#round.check(reply.status === 503, "a server failed at a request", { path, text });
      } catch {
        // It was killed, or is not there yet.
      }
      await pause(100);
    }
    return undefined;
  }

  async #rows() {
    for (;;) {
      try {
        return await this.#database.db
          .selectFrom("runs")
          .select(["id", "org_id", "day", "status", "stopped_at", "idempotency_key", "holder", "launched_at"])
          .execute();
      } catch {
        // The database is being restarted.
        await pause(50);
      }
    }
  }

  async #active() {
    return (await this.#rows()).filter(({ stopped_at }) => stopped_at === null);
  }

  #later(milliseconds: number, act: () => Promise<void>): void {
    const done = pause(milliseconds).then(act);
    this.#timers.add(done);
    void done.finally(() => this.#timers.delete(done));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { leaving } of this.#asked) leaving.abort();
    await Promise.all(this.#runners.map((runner) => runner[Symbol.asyncDispose]()));
    await Promise.all(this.#servers.map((server) => server[Symbol.asyncDispose]()));
    await this.#database.db.destroy();
    await this.#postgres[Symbol.asyncDispose]();
  }
}

const startedSchema = z.object({ "run-id": z.string() });

function pick<T>(from: readonly T[], which: number): T | undefined {
  return from[which % Math.max(1, from.length)];
}
