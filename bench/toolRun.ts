import { join } from "node:path";
import { projectRoot } from "../scripts/projectRoot.ts";
import { TemporaryFolder } from "../test/temporaryFolder.ts";
import type { Benchmark, Measured, Setting } from "./benchmark.ts";
import { liftDay, MachineService, makeProject } from "./machineService.ts";
import { sideBySide } from "./sideBySide.ts";

const rounds = 31;
const line = "echo hello";
/** In which the service gets the next runner ready. */
const settleMilliseconds = 300;

/** Starts a run and follows its log to the end, by what Node has for it and nothing else. */
const bareRun = `
const { request } = require("node:http");
const headers = { "x-api-key": process.env.BENCH_KEY, "content-type": "application/json", prefer: "wait=60" };
const post = request(process.env.BENCH_URL + "/api/runs", { method: "POST", headers }, async (reply) => {
  const { "run-id": id } = JSON.parse((await reply.toArray()).join(""));
  const streamed = { ...headers, accept: "text/event-stream" };
  request(process.env.BENCH_URL + "/api/runs/" + id + "/log", { headers: streamed }, async (log) => {
    const events = (await log.toArray()).join("");
    if (!events.includes("succeeded")) throw new Error(events);
  }).end();
});
post.end('{"pipeline":"hello"}');`;

const step = "sh -c of its step";
const bare = "a bare node that POSTs and follows";

/** How long `pipeline run` takes to its exit, beside its step alone and beside the least that can ask for the run. */
export const toolRun: Benchmark = {
  name: "toolRun",
  decides: "what a run from a terminal costs beside the command itself",
  measure,
};

async function measure({ signal }: Setting): Promise<Measured> {
  await using folder = await TemporaryFolder.make("pipeline-runs-bench");
  const data = join(folder.path, "data");
  await using service = await MachineService.start(data, signal);
  liftDay(data);
  const cwd = await makeProject(folder.path, line);
  const { url, token } = service.connection;
  const tool = join(projectRoot, "dist", "cli.js");
  const env = { PIPELINE_DATA_DIR: data, PIPELINE_CACHE_DIR: join(folder.path, "cache") };
  const rows = await sideBySide(
    [
      // The first, since it registers the project.
      { name: "pipeline run hello", args: [tool, "run", "hello"], env, cwd, beside: bare },
      { name: bare, args: ["-e", bareRun], env: { BENCH_URL: url, BENCH_KEY: token }, beside: step },
      { name: step, command: "sh", args: ["-c", line], beside: step },
    ],
    rounds,
    settleMilliseconds,
  );
  return { kind: "measured", rounds, tables: [{ rows: rows.toReversed() }] };
}
