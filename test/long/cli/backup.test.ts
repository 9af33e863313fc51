import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { readConnection } from "../../../src/machine/connectionFile.ts";
import { toolbox, written } from "../../cli/toolbox.ts";
import { programPipeline } from "../../service/startedService.ts";

describe("pipeline backup", () => {
  it("copies a running service's database; another service goes on from the copy with the same keys", async () => {
    await using tool = await toolbox();
    const serving = tool.spawn(["serve"]);
    await written(serving.stdout, /Serving at/);
    const made = await tool.run(["keys", "create", "--role", "member", "--org", "Acme", "--json"]);
    const key = JSON.parse(made.stdout)["api-key"];
    const urlOf = async (folder: string) => (await readConnection(folder))?.url;
    await tool.write("hello", programPipeline(""));
    const named = async (folder: string) => ({
      PIPELINE_BASE_URL: await urlOf(folder),
      PIPELINE_API_KEY: key,
    });
    assert.equal((await tool.run(["run", "hello"], await named(tool.data))).exitCode, 0);

    const folder = join(tool.project, "restored");
    await mkdir(folder);
    const file = join(folder, "runs.db");
    const told = await tool.run(["backup", "restored/runs.db", "--json"]);
    assert.equal(told.exitCode, 0, told.stderr);
    assert.deepEqual(JSON.parse(told.stdout), { ok: true, command: "backup", file, warnings: [] });
    const again = await tool.run(["backup", file]);
    assert.equal(again.exitCode, 2);
    assert.match(again.stderr, /There is something at .*runs\.db already/);
    serving.kill("SIGTERM");
    await serving;

    const other = tool.spawn(["serve", "--data-dir", folder]);
    await written(other.stdout, /Serving at/);
    const org = JSON.parse((await tool.run(["org", "--json"], await named(folder))).stdout);
    assert.equal(org["org-name"], "Acme");
    assert.equal(org.usage["runs-today"], 1);
    other.kill("SIGTERM");
    await other;
  });
});
