import assert from "node:assert/strict";
import { execa } from "execa";
import { projectRoot } from "../../../scripts/projectRoot.ts";
import { toolbox, written } from "../../cli/toolbox.ts";
import { postgresFolder } from "../../postgres/installPostgres.ts";
import { programPipeline } from "../../service/startedService.ts";

describe("npm run many", function () {
  this.timeout(300_000);
  // Where there is no PostgreSQL from npm, there is nothing to start.
  if (postgresFolder() === undefined || process.platform === "win32") return;

  it("starts a service for many machines that one's projects can use, and ends all of it with Ctrl-C", async () => {
    await using tool = await toolbox();
    // The shell is still set to the service of the last time.
    const env = { PIPELINE_BASE_URL: "http://127.0.0.1:9/", PIPELINE_API_KEY: "plr_of_last_time" };
    const many = execa(process.execPath, ["scripts/many.ts"], { cwd: projectRoot, env, reject: false });
    try {
      const said = /PIPELINE_BASE_URL=(\S+) PIPELINE_API_KEY=(\S+)[\s\S]*The other server: (\S+)/;
      const [, first, key, other] = await written(many.stderr, said);
      await execa("git", ["init", "--quiet"], { cwd: tool.project });
      await tool.write("hello", programPipeline("console.log('from a runner')"));
      for (const server of [first, other]) {
        const env = { PIPELINE_BASE_URL: server, PIPELINE_API_KEY: key };
        const { exitCode, stdout, stderr } = await tool.run(["run", "hello", "--log"], env);
        assert.equal(exitCode, 0, stderr);
        assert.match(stdout, /from a runner/);
      }
    } finally {
      many.kill("SIGINT");
    }
    assert.equal((await many).exitCode, 0);
  });
});
