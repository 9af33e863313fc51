import { spawn } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ConnectDeps } from "../../../src/client/embedded/serviceProcess.ts";
import { TemporaryFolder } from "../../temporaryFolder.ts";

/** A program that keeps the embedded service's side of the bargain: the lock, the connection file, the health. */
const goodService = `
import { randomUUID } from "node:crypto";
import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
const folder = process.env.PIPELINE_DATA_DIR;
try { mkdirSync(join(folder, "lock")); } catch { process.exit(0); }
const instance = randomUUID();
writeFileSync("given.json", JSON.stringify({ args: process.argv.slice(2), cwd: process.cwd(), env: process.env }));
console.log("serving");
const server = createServer((request, response) => {
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify(request.url === "/healthz" ? { ok: true, instance } : { runs: [] }));
}).listen(0, "127.0.0.1", () => {
  const url = "http://127.0.0.1:" + server.address().port;
  const file = join(folder, "service.json");
  writeFileSync(file + ".new", JSON.stringify({ url, pid: process.pid, token: "token-" + instance, instance }), { mode: 0o600 });
  renameSync(file + ".new", file);
});
setTimeout(() => process.exit(9), 60_000);
`;

/** A data folder and a stand-in for the service's program; every process that was started for it is ended with it. */
export class StandIn implements AsyncDisposable {
  readonly folder: string;
  readonly servicePath: string;
  readonly #temporary: TemporaryFolder;
  readonly #ended: Promise<void>[] = [];
  readonly pids: number[] = [];

  static async make(program: string = goodService): Promise<StandIn> {
    const standIn = new StandIn(await TemporaryFolder.make());
    await writeFile(standIn.servicePath, program);
    return standIn;
  }

  private constructor(temporary: TemporaryFolder) {
    this.#temporary = temporary;
    this.folder = join(temporary.path, "data", "pipeline-runs");
    this.servicePath = join(temporary.path, "service.mjs");
  }

  deps(others: Partial<ConnectDeps> = {}): ConnectDeps {
    return {
      folder: this.folder,
      execPath: process.execPath,
      servicePath: this.servicePath,
      env: { PATH: process.env["PATH"], SystemRoot: process.env["SystemRoot"] },
      spawn: this.spawn,
      ...others,
    };
  }

  /** The real spawn, which remembers what it started. */
  readonly spawn = ((path: string, args: string[], options: object) => {
    const child = spawn(path, args, options);
    this.#ended.push(
      new Promise((resolve) => child.once("exit", () => resolve()).once("error", () => resolve())),
    );
    if (child.pid !== undefined) this.pids.push(child.pid);
    return child;
  }) as typeof spawn;

  /** What the service found as its arguments, folder and environment. */
  async given(): Promise<{ args: string[]; cwd: string; env: Record<string, string> }> {
    return JSON.parse(await readFile(join(this.folder, "given.json"), "utf8"));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const pid of this.pids) {
      try {
        process.kill(pid, "SIGKILL");
      } catch {
        // It has ended by itself.
      }
    }
    await Promise.all(this.#ended);
    await this.#temporary[Symbol.asyncDispose]();
  }
}
