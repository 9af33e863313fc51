import assert from "node:assert/strict";
import { hostname } from "node:os";
import { everyOrgName } from "../../../src/contract/keys.ts";
import { postgresFolder } from "../../postgres/installPostgres.ts";
import { databasesForSuite } from "../../postgres/lentDatabases.ts";
import { Team } from "../../team/team.ts";
import { until } from "../../until.ts";
import { toolbox, written } from "../toolbox.ts";

const never = new AbortController().signal;

describe("pipeline runner", () => {
  it("takes no more slots than a request for work can name", async () => {
    await using tool = await toolbox();
    const service = ["--service", "http://127.0.0.1:9"];
    const refused = await tool.run(["runner", ...service, "--slots", "101"]);
    assert.equal(refused.exitCode, 2);
    assert.match(refused.stderr, /--slots.*from 1 to 100/);
    // It gets as far as the key that isn't there.
    assert.equal((await tool.call(["runner", ...service, "--slots", "100"])).exitCode, 3);
  });

  const native = postgresFolder();
  // Where there is no PostgreSQL for the tests, there are no tests of it.
  if (native === undefined || process.platform === "win32") return;
  const lend = databasesForSuite(native);

  it("says who it is, takes work, and ends with 0 once it is told to and its run is over", async () => {
    await using team = await Team.make(await lend());
    await using tool = await toolbox();
    const service = `${team.servers[0]?.url}/`;
    const env = { PIPELINE_API_KEY: await team.key("runner", everyOrgName) };
    const runner = tool.spawn(["runner", "--service", service, "--json"], env);
    const [line] = await written(runner.stdout, /^.*\n/);
    const said = JSON.parse(line);
    const runnerId = String(said["runner-id"]);
    assert.deepEqual(said, { ok: true, command: "runner", "runner-id": runnerId, service, slots: 1 });
    const { runId } = await team.start(1, "sleep 1");
    await until(async () => (await team.client(1).run(runId, never)).steps?.[0]?.status === "running");
    runner.kill("SIGTERM");
    const { exitCode, stdout } = await runner;
    assert.deepEqual([exitCode, `${stdout}\n`], [0, line]);
    const run = await team.ended(1, runId);
    assert.deepEqual([run.status, run.runner], ["succeeded", runnerId.slice("rnr_".length)]);
    assert.ok(
      run.runner?.startsWith(
        hostname()
          .replaceAll(/[^A-Za-z0-9-]+/g, "-")
          .slice(0, 40),
      ),
      run.runner,
    );
  });
});
