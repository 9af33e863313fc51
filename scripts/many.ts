import { join } from "node:path";
import { everyOrgName } from "../src/contract/keys.ts";
import { idMaker } from "../src/service/store/ids.ts";
import { createKey } from "../src/service/store/keys.ts";
import { openPostgres } from "../src/team/store/openPostgres.ts";
import { postgresFolder } from "../test/postgres/installPostgres.ts";
import { startedPostgres } from "../test/postgres/startedPostgres.ts";
import { Program } from "./process/program.ts";
import { projectRoot } from "./projectRoot.ts";
import { sayToStandardError } from "./say.ts";

// `npm run many`: a service for many machines, all of it on this one: a PostgreSQL, two servers, two runners. It ends, and
// its data with it, with Ctrl-C.
const native = postgresFolder();
if (native === undefined) throw new Error("There is no PostgreSQL from npm for this system.");
const interrupted = new AbortController();
// Not once: the programs' own listener ends this process where it is the only one.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => interrupted.abort());

await using postgres = await startedPostgres(native, interrupted.signal);
const url = postgres.url({ user: `app:${encodeURIComponent(postgres.password)}` });
const tool = join(projectRoot, "dist/cli.js");
await using programs = new AsyncDisposableStack();

/** Starts a program of the tool. @returns what it says that it is. */
async function start(words: readonly string[], environment: NodeJS.ProcessEnv = {}): Promise<string> {
  const env = { ...process.env, ...environment };
  const program = programs.use(new Program(process.execPath, [tool, ...words], { env }));
  const ready = await program.outputMatching(/(?:Serving at|Taking work of .* as) (\S+)/, interrupted.signal);
  if (ready?.[1] === undefined) throw new Error(program.output);
  return ready[1];
}

const { db } = await openPostgres(url, () => {});
const deps = { now: Date.now, makeId: idMaker(Date.now) };
const owner = await createKey(db, { orgName: "My team", role: "owner" }, deps);
const runner = await createKey(db, { orgName: everyOrgName, role: "runner" }, deps);
await db.destroy();

const servers = [await start(["serve", "--database", url]), await start(["serve", "--database", url])];
for (const server of servers) {
  // Also in a shell that has followed the advice below before.
  const environment = { PIPELINE_BASE_URL: "", PIPELINE_API_KEY: runner.secret };
  await start(["runner", "--service", server, "--slots", "2"], environment);
}
sayToStandardError(`
Two servers, two runners, one PostgreSQL. In a project's folder, which is a git repository:

  export PIPELINE_BASE_URL=${servers[0]} PIPELINE_API_KEY=${owner.secret}
  pipeline run hello

The other server: ${servers[1]}   The page: ${servers[0]}/app/runs   Ctrl-C ends it all.
`);
if (!interrupted.signal.aborted) await new Promise((resolve) => (interrupted.signal.onabort = resolve));
