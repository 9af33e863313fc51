import { spawnSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { projectRoot } from "../scripts/projectRoot.ts";
import { readConnection } from "../src/machine/connectionFile.ts";
import { endProcess } from "../test/endProcessesOf.ts";
import type { Benchmark, Measured } from "./benchmark.ts";
import { sideBySide } from "./sideBySide.ts";

const rounds = 25;

/** One request with the key, by what Node has for it and nothing else. */
const bareGet = `
require("node:http").get(process.env.BENCH_URL + "/api/org", { headers: { "x-api-key": process.env.BENCH_KEY } }, (reply) => {
  let text = "";
  reply.setEncoding("utf8").on("data", (piece) => (text += piece)).on("end", () => console.log(JSON.parse(text)["org-id"]));
});`;
const bareFetch = `
fetch(process.env.BENCH_URL + "/api/org", { headers: { "x-api-key": process.env.BENCH_KEY } })
  .then((reply) => reply.json()).then((org) => console.log(org["org-id"]));`;

const nothing = "node -e 0";
const oneGet = "a bare GET by node:http";

/** How long the tool takes from nothing to its answer, beside a Node that does nothing and one that asks the same. */
export const coldStart: Benchmark = {
  name: "coldStart",
  decides: "whether a script can call the tool hundreds of times",
  measure,
};

async function measure(): Promise<Measured> {
  const folder = await mkdtemp(join(tmpdir(), "pipeline-runs-bench-"));
  const tool = join(projectRoot, "dist", "cli.js");
  const env = { PIPELINE_DATA_DIR: folder, PIPELINE_CACHE_DIR: join(folder, "cache") };
  try {
    const { status, stderr } = spawnSync(process.execPath, [tool, "org"], {
      env: { ...process.env, ...env },
      encoding: "utf8",
    });
    const connection = await readConnection(folder);
    if (status !== 0 || connection === undefined) throw new Error(`No service was started: ${stderr}`);
    const asking = { BENCH_URL: connection.url, BENCH_KEY: connection.token };
    const rows = await sideBySide(
      [
        { name: nothing, args: ["-e", "0"], beside: nothing },
        { name: oneGet, args: ["-e", bareGet], env: asking, beside: nothing },
        { name: "a bare GET by fetch", args: ["-e", bareFetch], env: asking, beside: oneGet },
        { name: "pipeline --version", args: [tool, "--version"], env, beside: nothing, atMost: 1.3 },
        { name: "pipeline --help", args: [tool, "--help"], env, beside: nothing },
        { name: "pipeline org", args: [tool, "org"], env, beside: oneGet, atMost: 1.5 },
        {
          name: "pipeline org, without a compile cache",
          args: [tool, "org"],
          env: { ...env, NODE_DISABLE_COMPILE_CACHE: "1" },
          beside: oneGet,
        },
      ],
      rounds,
    );
    return { kind: "measured", rounds, tables: [{ rows }] };
  } finally {
    const connection = await readConnection(folder);
    if (connection !== undefined) await endProcess(connection.pid);
    await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  }
}
