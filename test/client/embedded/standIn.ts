import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ConnectDeps } from "../../../src/client/embedded/startEmbedded.ts";
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

export type StandIn = Awaited<ReturnType<typeof standInFor>>;

/** A data folder and a stand-in for the service's program; every process that was started for it is ended with it. */
export async function standInFor(program = goodService) {
  const temporary = await TemporaryFolder.make();
  const folder = join(temporary.path, "data", "pipeline-runs");
  const servicePath = join(temporary.path, "service.mjs");
  await writeFile(servicePath, program);
  const started: ChildProcess[] = [];
  /** The real spawn, which remembers what it started. */
  const remembering = ((path: string, args: string[], options: object) => {
    const child = spawn(path, args, options);
    if (child.pid !== undefined) started.push(child);
    return child;
  }) as typeof spawn;
  return {
    folder,
    servicePath,
    spawn: remembering,
    get pids() {
      return started.map(({ pid }) => pid);
    },
    deps: (others: Partial<ConnectDeps> = {}): ConnectDeps => ({
      ...{ folder, servicePath, spawn: remembering, execPath: process.execPath },
      env: { PATH: process.env["PATH"], SystemRoot: process.env["SystemRoot"] },
      ...others,
    }),
    /** What the service found as its arguments, folder and environment. */
    async given(): Promise<{ args: string[]; cwd: string; env: Record<string, string> }> {
      return JSON.parse(await readFile(join(folder, "given.json"), "utf8"));
    },
    async [Symbol.asyncDispose]() {
      for (const child of started) {
        const isOver = child.exitCode !== null || child.signalCode !== null;
        const ended = isOver || once(child, "exit");
        child.kill("SIGKILL");
        await ended;
      }
      await temporary[Symbol.asyncDispose]();
    },
  };
}
