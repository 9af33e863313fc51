import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { findProcesses } from "../../scripts/process/findProcesses.ts";
import { projectRoot } from "../../scripts/projectRoot.ts";
import { ServiceClient } from "../../src/client/service/client.ts";
import type { Connection } from "../../src/machine/connectionFile.ts";
import { readConnection } from "../../src/machine/connectionFile.ts";
import { runMarker } from "../../src/runner/processes/processTable.ts";
import { openDatabase } from "../../src/service/store/openDatabase.ts";
import { isAlive } from "../isAlive.ts";
import { type Limits, limitedKey } from "../service/servedProcess.ts";
import type { Round } from "./round.ts";

const servicePath = join(projectRoot, "dist/service.js");

/** A row of the database's runs. */
export type Row = Awaited<ReturnType<ChaosService["rows"]>>[number];
export type Member = Awaited<ReturnType<ChaosService["member"]>>;

/**
 * The shipped service in a process of its own, which may be killed, stopped and started anew, also by the tools that use the same
 * folder; and a way to look into its database, whether it lives or not.
 */
export class ChaosService implements AsyncDisposable {
  readonly data: string;
  readonly project: string;
  readonly db: Awaited<ReturnType<typeof openDatabase>>;
  readonly #round: Round;
  /** Its last address; clients may use it while no service runs. */
  #last: Connection | undefined;

  static async begin(round: Round): Promise<ChaosService> {
    const data = join(round.folder, "data");
    const project = join(round.folder, "shop");
    await mkdir(data, { mode: 0o700 });
    await mkdir(join(project, "pipelines"), { recursive: true });
    return new ChaosService(round, data, project, await openDatabase(data));
  }

  private constructor(round: Round, data: string, project: string, db: ChaosService["db"]) {
    this.#round = round;
    this.data = data;
    this.project = project;
    this.db = db;
  }

  /** The environment of every process that uses the folder. */
  get environment(): Record<string, string> {
    return {
      ...this.#round.environment,
      PIPELINE_DATA_DIR: this.data,
      PIPELINE_CONFIG_DIR: join(this.data, "config"),
      PIPELINE_BASE_URL: "",
      PIPELINE_API_KEY: "",
    };
  }

  /** The service that the folder names, alive or not, whoever started it. */
  async connection(): Promise<Connection | undefined> {
    this.#last = (await readConnection(this.data)) ?? this.#last;
    return this.#last;
  }

  async livingPid(): Promise<number | undefined> {
    const pid = (await readConnection(this.data))?.pid;
    return pid !== undefined && isAlive(pid) ? pid : undefined;
  }

  /**
   * Starts a service. @param killAfter milliseconds after which it is killed, at whatever stage of its start.
   * @returns whether it serves; false also if another service was faster.
   */
  async start(killAfter?: number): Promise<boolean> {
    const env = { ...process.env, ...this.environment };
    const child = spawn(process.execPath, [servicePath], { env, stdio: "ignore" });
    const exited = once(child, "exit");
    void exited.then((how) => this.#round.trace("a service has ended", { pid: child.pid, how }));
    if (killAfter !== undefined) {
      await Promise.race([pause(killAfter), exited]);
      child.kill("SIGKILL");
      await exited;
      return false;
    }
    while (child.exitCode === null && child.signalCode === null) {
      if ((await this.livingPid()) === child.pid && (await this.answering())) return true;
      await pause(20, undefined, { signal: this.#round.signal });
    }
    return false;
  }

  /** Makes sure that a service runs, whoever started it. */
  async ensure(): Promise<void> {
    for (;;) {
      this.#round.signal.throwIfAborted();
      const found = await this.answering();
      if (found) return;
      if (!(await this.start())) await pause(50);
    }
  }

  async answering(): Promise<boolean> {
    const connection = await this.connection();
    if (connection === undefined) return false;
    try {
      const client = new ServiceClient({ baseUrl: new URL(`${connection.url}/`), apiKey: connection.token });
      return (await client.health(this.#round.signal, 2)).instance === connection.instance;
    } catch {
      return false;
    }
  }

  /** A key of an org, which is made when there is none of that name. */
  async member(orgName: string, limits: Limits) {
    const key = await limitedKey(this.db, orgName, limits);
    await this.db
      .insertInto("projects")
      .values({ org_id: key.orgId, name: basename(this.project), root: this.project })
      .onConflict((conflict) => conflict.doNothing())
      .execute();
    return { ...key, orgName, limits, client: () => this.client(key.secret) };
  }

  /** A client of the service where it was last. */
  client(apiKey: string): ServiceClient {
    return new ServiceClient({ baseUrl: this.url, apiKey });
  }

  get url(): URL {
    if (this.#last === undefined) throw new Error("no service was ever there");
    return new URL(`${this.#last.url}/`);
  }

  write(name: string, text: string): Promise<void> {
    return writeFile(join(this.project, "pipelines", `${name}.yaml`), text);
  }

  rows() {
    return this.db.selectFrom("runs").selectAll().orderBy("id").execute();
  }

  /** The ids of the runs that have living processes. */
  async runsWithProcesses(): Promise<Set<string>> {
    const found = await findProcesses(this.#round.environment);
    return new Set(found.flatMap(({ environment }) => environment.get(runMarker) ?? []));
  }

  /** Ends every process that uses the folder; a service is shut down, which ends its runs. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (;;) {
      const living = (await findProcesses(this.#round.environment)).filter(
        ({ environment }) => !environment.has(runMarker),
      );
      if (living.length === 0) break;
      for (const { pid } of living) kill(pid, "SIGKILL");
      await pause(20);
    }
    await this.db.destroy();
  }
}

/** Sends a signal to a process that may have ended meanwhile. */
export function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended.
  }
}
