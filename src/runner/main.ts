import { text } from "node:stream/consumers";
import { closeInheritedFiles, hideOwnMemory } from "../machine/ownProcess.ts";
import { preparePipes } from "./cli/openOutputs.ts";
import { type DryJob, dryRunArgument, sqliteArgument } from "./launch/protocol.ts";
import { processTable } from "./processes/systemProcesses.ts";
import { serveRunner } from "./serveRunner.ts";

// The runner's program: one process for each run, started by readyRunner.ts; with an argument, the process in which an sql
// step runs SQLite, or one that looks at what runs would do.
hideOwnMemory();
// What it writes to its standard error tells why it died, and nothing else: no warning of what is experimental in a library.
process.removeAllListeners("warning");
closeInheritedFiles();
if (process.argv[2] === sqliteArgument) {
  const { serveSqlite } = await import("./sql/serveSqlite.ts");
  serveSqlite(process);
} else if (process.argv[2] === dryRunArgument) {
  const jobs: DryJob[] = JSON.parse(await text(process.stdin));
  const { dryRun } = await import("./steps/dryRun.ts");
  const runs: unknown[] = [];
  for (const job of jobs) runs.push(await dryRun(job));
  process.stdout.write(JSON.stringify(runs), () => process.exit(0));
} else {
  await serveRun();
}

async function serveRun(): Promise<void> {
  const ending = new AbortController();
  let endsBy: NodeJS.Signals = "SIGKILL";
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) {
    process.on(signal, () => {
      endsBy = signal;
      ending.abort();
    });
  }
  const pipes = preparePipes(process.platform);
  await serveRunner(import.meta.filename, processTable(process.platform), ending.signal);
  // A process that ends while they are made would leave their names.
  await pipes;
  // The empty write completes after every message. Then the process kills itself: `exit` may hang (nodejs/node#54918) and takes
  // milliseconds, and the next run waits until this process is gone. After a signal it ends by that one, which its service names.
  process.stdout.write("", () => process.removeAllListeners(endsBy).kill(process.pid, endsBy));
}
