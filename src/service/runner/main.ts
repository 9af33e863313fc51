import { processTable } from "./processes/systemProcesses.ts";
import { serveRunner } from "./serveRunner.ts";
import { sqliteArgument } from "./sql/sqliteConnection.ts";

// The runner's program: a process of its own for each run, started by launch.ts; and the process of a run in which
// SQLite runs, started by an sql step.
// A report that Node.js writes of a crash would hold the environment, and with it what is secret for the steps.
if (process.report) process.report.excludeEnv = true;
if (process.argv[2] === sqliteArgument) {
  const { serveSqlite } = await import("./sql/serveSqlite.ts");
  serveSqlite(process);
} else {
  await serveRun();
}

async function serveRun(): Promise<void> {
  const ending = new AbortController();
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, () => ending.abort());
  await serveRunner({
    input: process.stdin,
    output: process.stdout,
    environment: process.env,
    platform: process.platform,
    execPath: process.execPath,
    programPath: import.meta.filename,
    pid: process.pid,
    processes: processTable(process.platform),
    now: () => new Date(),
    ended: ending.signal,
  });
  // Its open pipe alone would keep this process alive. The empty write is behind all that was told.
  process.stdout.write("", () => process.exit(0));
}
