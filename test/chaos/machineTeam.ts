import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createWriteStream, writeFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import { everyOrgName } from "../../src/contract/keys.ts";
import { idMaker } from "../../src/service/store/ids.ts";
import { createKey } from "../../src/service/store/keys.ts";
import type { Database } from "../../src/service/store/tables.ts";
import { type OpenPostgres, openPostgres } from "../../src/team/store/openPostgres.ts";
import { clockIn } from "../clock/preload.ts";
import { type StartedObjectStore, startedObjectStore } from "../objectStore/startedObjectStore.ts";
import { freePort, type StartedPostgres, startedPostgres } from "../postgres/startedPostgres.ts";
import { CutLine } from "../service/cutLine.ts";
import { toolPath } from "../service/programs.ts";
import { pick, type Round } from "./round.ts";

const counts = { servers: 4, runners: 8, orgs: 30 } as const;
/** Few enough for some orgs to use them up. */
export const runsPerDay = 8;
/** The initial clock errors of the servers and runners, in hours, in their order. */
const clocks = [0, -7, 26, 3.5] as const;
/** How long a program may take to shut down, in milliseconds: a runner may have to wait until its last run is lost. */
const endsWithin = 60_000;

export interface Member {
  readonly orgId: string;
  readonly apiKey: string;
  /** Steps hold the lock while any of their processes lives, and write to `overlaps` when another step holds it. */
  readonly lock: string;
  readonly overlaps: string;
}

/** The database's time, in milliseconds since 1970: the machine's, also where the processes of the tests live at another. */
export function databaseNow(): number {
  return performance.timeOrigin + performance.now();
}

/** A team's servers, runners, orgs and database, and the lines between them. */
export class MachineTeam implements AsyncDisposable {
  readonly members: Member[] = [];
  readonly servers: MachineProgram[] = [];
  readonly runners: MachineProgram[] = [];
  /**
   * From each runner, and from some clients, to whichever server answers, as a balancer lays them; from the first server to the
   * database; from all servers to their object store.
   */
  readonly lines: Readonly<Record<"runner" | "clients" | "database" | "store", CutLine[]>> = {
    runner: [],
    clients: [],
    database: [],
    store: [],
  };
  readonly objects: StartedObjectStore;
  /** When the database was started last, in milliseconds since 1970. */
  databaseSince = databaseNow();
  readonly #round: Round;
  readonly #postgres: StartedPostgres;
  readonly #database: OpenPostgres;
  #balanced = 0;

  static async begin(native: string, round: Round): Promise<MachineTeam> {
    const postgres = await startedPostgres(native, round.signal);
    const url = postgres.url({ user: `app:${encodeURIComponent(postgres.password)}` });
    const objects = await startedObjectStore(round.signal);
    const team = new MachineTeam(round, postgres, await openPostgres(url, () => {}), objects);
    await team.#makeOrgs();
    await team.#start(url);
    return team;
  }

  private constructor(
    round: Round,
    postgres: StartedPostgres,
    database: OpenPostgres,
    objects: StartedObjectStore,
  ) {
    this.objects = objects;
    this.#round = round;
    this.#postgres = postgres;
    this.#database = database;
  }

  get db(): Database {
    return this.#database.db;
  }

  /** Ends the database as a crash does, and starts it again. */
  async restartDatabase(): Promise<void> {
    await this.#postgres.stop("SIGQUIT");
    await this.#postgres.restart();
    this.databaseSince = databaseNow();
  }

  /** Ends all servers or all runners in order, one after the other, each once the one before is there again. */
  async upgrade(what: "server" | "runner"): Promise<void> {
    for (const program of what === "server" ? this.servers : this.runners) {
      this.#round.check(await program.upgrade(endsWithin), `a ${what} doesn't end at SIGTERM`);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const [what, programs] of Object.entries({ runner: this.runners, server: this.servers })) {
      const ended = await Promise.all(programs.map((program) => program.close(endsWithin)));
      this.#round.check(
        this.#round.signal.aborted || !ended.includes(false),
        `a ${what} doesn't end at SIGTERM, when all is done`,
      );
    }
    for (const line of Object.values(this.lines).flat()) await line[Symbol.asyncDispose]();
    await this.db.destroy();
    await this.objects[Symbol.asyncDispose]();
    await this.#postgres[Symbol.asyncDispose]();
  }

  async #makeOrgs(): Promise<void> {
    for (let number = 0; number < counts.orgs; number++) {
      const { orgId, secret } = await this.#key(`org ${number}`, "member");
      const file = (name: string) => join(this.#round.folder, `${number}.${name}`);
      this.members.push({ orgId, apiKey: secret, lock: file("lock"), overlaps: file("overlaps") });
      await writeFile(file("overlaps"), "");
    }
    await this.db.updateTable("orgs").set({ runs_per_day: runsPerDay }).execute();
  }

  async #start(url: string): Promise<void> {
    this.lines.database.push(await CutLine.lay(() => url));
    const store = await CutLine.lay(() => this.objects.environment().AWS_ENDPOINT_URL_S3);
    this.lines.store.push(store);
    for (let number = 0; number < counts.servers; number++) {
      // It comes back at its port, as behind a name.
      const port = String(await freePort());
      const line = this.lines.database[number]?.port;
      const address = line === undefined ? url : Object.assign(new URL(url), { port: line }).href;
      const words = ["serve", "--database", address, "--object-store", "s3://runs", "--port", port];
      this.servers.push(this.#program("server", number, words, this.objects.environment(store.origin)));
    }
    await Promise.all(this.servers.map((server) => server.ready()));
    this.lines.clients.push(await CutLine.lay(() => this.#balance()));
    const { secret } = await this.#key(everyOrgName, "runner");
    for (let number = 0; number < counts.runners; number++) {
      const line = await CutLine.lay(() => this.#balance());
      this.lines.runner.push(line);
      const words = ["runner", "--service", `${line.origin}/`, "--label", `r${number}`, "--slots", "2"];
      this.runners.push(this.#program("runner", number, words, { PIPELINE_API_KEY: secret }));
    }
    await Promise.all(this.runners.map((runner) => runner.ready()));
  }

  #program(
    what: string,
    number: number,
    words: readonly string[],
    environment: NodeJS.ProcessEnv = {},
  ): MachineProgram {
    return new MachineProgram(
      words,
      { ...process.env, ...this.#round.environment, ...environment },
      join(this.#round.folder, `${what}.${number}`),
      clocks[number % clocks.length] ?? 0,
    );
  }

  #key(orgName: string, role: "member" | "runner") {
    return createKey(this.db, { orgName, role }, { now: Date.now, makeId: idMaker(Date.now) });
  }

  /** The next server that is there. */
  #balance(): string | undefined {
    const there = this.servers.flatMap(({ url }) => url ?? []);
    return pick(there, this.#balanced++);
  }
}

/** A server or a runner, as a team would start it, on a machine with a clock of its own. It is restarted whenever it exits. */
class MachineProgram {
  /** Where it serves; undefined for a runner, and while it isn't ready. */
  url: string | undefined;
  readonly #words: readonly string[];
  readonly #environment: NodeJS.ProcessEnv;
  readonly #files: string;
  #process: ChildProcess;
  #ready = Promise.withResolvers<void>();
  #isOver = false;

  /**
   * @param files the beginning of the names of its files: how far its clock is off, and what it logs.
   * @param hours how far its clock is off at first.
   */
  constructor(words: readonly string[], environment: NodeJS.ProcessEnv, files: string, hours: number) {
    this.#words = words;
    this.#files = files;
    this.#environment = { ...environment, ...clockIn(`${files}.clock`) };
    this.setClock(hours);
    this.#process = this.#run();
  }

  /** Resolves once it is ready, however often it is restarted until then. */
  async ready(): Promise<void> {
    await this.#ready.promise;
  }

  signal(signal: NodeJS.Signals): void {
    this.#process.kill(signal);
  }

  /** Sets its clock, so many hours off. */
  setClock(hours: number): void {
    writeFileSync(`${this.#files}.clock`, String(hours * 3_600_000));
  }

  /** Ends it in order. @returns whether another one has taken its place, or it doesn't end in time. */
  async upgrade(withinMilliseconds: number): Promise<boolean> {
    if (!(await this.#end(withinMilliseconds))) return false;
    await this.ready();
    return true;
  }

  /** Shuts it down for good, by SIGKILL if it takes too long. @returns whether it ended by itself. */
  async close(withinMilliseconds: number): Promise<boolean> {
    this.#isOver = true;
    this.signal("SIGCONT");
    const hasEnded = await this.#end(withinMilliseconds);
    this.signal("SIGKILL");
    return hasEnded;
  }

  async #end(withinMilliseconds: number): Promise<boolean> {
    const process = this.#process;
    if (process.exitCode !== null || process.signalCode !== null) return true;
    const exited = once(process, "exit").then(() => true);
    process.kill("SIGTERM");
    return Promise.race([exited, pause(withinMilliseconds, false, { ref: false })]);
  }

  #run(): ChildProcess {
    const child = spawn(process.execPath, [toolPath, ...this.#words, "--json"], {
      env: this.#environment,
      stdio: ["ignore", "pipe", "pipe"],
    });
    child.stderr.pipe(createWriteStream(`${this.#files}.log`, { flags: "a" }));
    createInterface({ input: child.stdout }).once("line", (line) => {
      const { ok, url } = JSON.parse(line);
      // It says why it can't begin, and ends.
      if (ok !== true) return;
      this.url = typeof url === "string" ? url : undefined;
      this.#ready.resolve();
    });
    child.once("exit", () => {
      this.url = undefined;
      const before = this.#ready;
      this.#ready = Promise.withResolvers();
      // If it ends before it is ready, the wait goes on for its successor.
      this.#ready.promise.then(before.resolve);
      // As an orchestrator does it, also while the database is away.
      setTimeout(() => {
        if (!this.#isOver) this.#process = this.#run();
      }, 300);
    });
    return child;
  }
}
