import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { open, readdir, readFile, readlink } from "node:fs/promises";
import { join } from "node:path";
import { projectRoot } from "../../scripts/projectRoot.ts";
import { isAlive } from "../isAlive.ts";
import { itOn } from "../itOn.ts";
import { newRunId, shellPipeline } from "../runner/launch/launchTestRun.ts";
import { temporaryFolder } from "../temporaryFolder.ts";
import { until } from "../until.ts";

describe("a file that the starter has open", () => {
  const folder = temporaryFolder();

  /** One of the programs, which has such a file as its descriptor 20: Node.js itself takes away the first 16. */
  async function startedWithFile(program: string, words: readonly string[]) {
    const path = join(folder.path, "lock");
    const lock = await open(path, "w");
    const child = spawn(process.execPath, [join(projectRoot, "dist", program), ...words], {
      env: { ...process.env, PIPELINE_DATA_DIR: join(folder.path, "data") },
      stdio: ["pipe", "ignore", "ignore", ...Array(17).fill("ignore"), lock.fd],
    });
    await lock.close();
    const { pid = 0 } = child;
    const hasFile = async () => {
      const names = await readdir(`/proc/${pid}/fd`);
      const files = await Promise.all(
        names.map((name) => readlink(`/proc/${pid}/fd/${name}`).catch(() => "")),
      );
      return files.includes(path);
    };
    return { child, path, hasFile, exited: once(child, "exit") };
  }

  itOn("linux", "is none of the service's", async () => {
    const { child, hasFile, exited } = await startedWithFile("service.js", []);
    const published = join(folder.path, "data", "service.json");
    await until(async () => (await readFile(published, "utf8").catch(() => "")) !== "");
    assert.equal(await hasFile(), false);
    child.kill("SIGTERM");
    await exited;
  });

  itOn("linux", "is none of a step's", async () => {
    const { child, path, exited } = await startedWithFile("runner.js", []);
    const listed = join(folder.path, "listed");
    const job = {
      ...{ runId: newRunId(), root: folder.path, artifactsFolder: join(folder.path, "artifacts") },
      ...{ pipeline: shellPipeline(`ls -l /proc/self/fd > ${listed}`), graceMilliseconds: 500 },
    };
    child.stdin?.write(`${JSON.stringify(job)}\n`);
    await exited;
    const files = await readFile(listed, "utf8");
    assert.ok(files.includes(listed) && !files.includes(path), files);
    assert.ok(!isAlive(child.pid ?? 0));
  });
});
