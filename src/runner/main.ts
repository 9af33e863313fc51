import { text } from "node:stream/consumers";
import { keepCompiled } from "../machine/compiledFolder.ts";
import { closeInheritedFiles, hideOwnMemory } from "../machine/ownProcess.ts";
import { type DryJob, dryRunArgument, sqliteArgument } from "./launch/protocol.ts";

// The runner's program: one process for each run, started by readyRunner.ts; with an argument, the process in which an sql
// step runs SQLite, or one that does dry runs.
hideOwnMemory();
// Standard error is only for why the process died, so Node's warnings, such as those about experimental features, are off.
process.removeAllListeners("warning");
closeInheritedFiles();
keepCompiled();
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
  const { serveRun } = await import("./serveRunner.ts");
  await serveRun(import.meta.filename);
}
