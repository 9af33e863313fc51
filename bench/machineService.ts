import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, open, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as pause } from "node:timers/promises";
import { projectRoot } from "../scripts/projectRoot.ts";
import type { Connection } from "../src/machine/connectionFile.ts";
import { readConnection } from "../src/machine/connectionFile.ts";
import { serviceLogFile } from "../src/machine/dataFolder.ts";
import { databaseFile } from "../src/service/store/openDatabase.ts";

/** The service as it is built and as a face starts it, in a process and a folder of its own. */
export class MachineService implements AsyncDisposable {
  readonly connection: Connection;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, connection: Connection) {
    this.#child = child;
    this.connection = connection;
  }

  /** @throws Error when it ends before it serves, or the signal's reason. */
  static async start(folder: string, signal: AbortSignal): Promise<MachineService> {
    await mkdir(folder, { recursive: true });
    await using log = await open(serviceLogFile(folder), "a", 0o600);
    const child = spawn(process.execPath, [join(projectRoot, "dist/service.js")], {
      env: { ...process.env, PIPELINE_DATA_DIR: folder },
      stdio: ["ignore", "ignore", log.fd],
    });
    try {
      for (;;) {
        if (child.exitCode !== null) throw new Error(`the service ended with ${child.exitCode}`);
        const connection = await readConnection(folder);
        if (connection?.pid === child.pid && connection !== undefined)
          return new MachineService(child, connection);
        await pause(20, undefined, { signal });
      }
    } catch (error) {
      child.kill("SIGKILL");
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const gone = once(this.#child, "exit");
    this.#child.kill("SIGTERM");
    await gone;
  }
}

/** Lets every org of a served folder start as many runs a day as a benchmark wants. */
export function liftDay(folder: string): void {
  const db = new DatabaseSync(databaseFile(folder), { timeout: 5_000 });
  db.exec("update orgs set runs_per_day = 1000000");
  db.close();
}

/** Makes a project with one pipeline, `hello`. @param line its step's command, for a shell. @returns its folder. */
export async function makeProject(folder: string, line: string): Promise<string> {
  const root = join(folder, "project");
  await mkdir(join(root, "pipelines"), { recursive: true });
  const step = `steps:\n  - use: shell\n    run: ${JSON.stringify(line)}\n`;
  await writeFile(join(root, "pipelines/hello.yaml"), `resources:\n  shell: { type: cli }\n${step}`);
  return root;
}
