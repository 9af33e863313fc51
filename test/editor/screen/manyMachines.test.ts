import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { type AddressInfo, connect, createServer } from "node:net";
import { join } from "node:path";
import { execa } from "execa";
import { postgresFolder } from "../../postgres/installPostgres.ts";
import { StartedPostgres } from "../../postgres/startedPostgres.ts";
import { Team } from "../../service/many/team.ts";
import { screen } from "./screen.ts";
import { testWorkspace } from "./workspace.ts";

const quota = "pipeline-runs.pipeline-runs.quota";

describe("the editor, with a service on many machines", function () {
  this.timeout(120_000);
  const native = postgresFolder();
  // Where there is no PostgreSQL for the tests, there are no tests of it.
  if (native === undefined) return;
  let team: Team;
  const at = screen(
    async (held) => {
      const postgres = held.use(await StartedPostgres.start(native, AbortSignal.timeout(110_000)));
      team = held.use(await Team.make(`${postgres.server}postgres`));
      await team.startRunner();
      const { path: folder } = held.use(await testWorkspace());
      await writeFile(join(folder, "greeting.txt"), "hello from a file of the project\n");
      await writeFile(
        join(folder, "pipelines/greet.yaml"),
        "resources:\n  shell: { type: cli }\nsteps:\n  - use: shell\n    run: cat greeting.txt\n    expect: { output: from a file }\n",
      );
      await execa("git", ["init", "--quiet"], { cwd: folder });
      const balancer = held.use(await listen(team.servers.map(({ url }) => Number(new URL(url).port))));
      return { folder, settings: { "pipelineRuns.baseUrl": `http://127.0.0.1:${balancer.port}` } };
    },
    async (window) => {
      await window.setApiKey(team.memberKey);
      await window.statusBar.waitForText(quota, /^0 of 50 runs used today$/);
    },
  );

  it("runs a pipeline of the window's folder, with its files, on a runner", async () => {
    await at.window.quickInput.runCommand("Pipeline Runs: Run Pipeline…");
    await at.window.quickInput.pick("greet");
    await at.window.statusBar.waitForMessage(/greet succeeded/);
    await at.window.statusBar.waitForText(quota, /^1 of 50 runs used today$/);
  });

  it("waits for the slot while one of two servers ends, and gets it", async () => {
    const held = await team.start(1, "sleep 60");
    await at.window.quickInput.runCommand("Pipeline Runs: Run Pipeline…");
    await at.window.quickInput.pick("greet");
    await at.window.statusBar.waitForText(quota, /2 of 50 runs used today · waiting; gives up in \d+ s$/);
    await team.servers[0]?.stop();
    await team.client(1).cancel(held.runId, new AbortController().signal);
    await at.window.statusBar.waitForMessage(/greet succeeded/);
    await at.window.statusBar.waitForText(quota, /^3 of 50 runs used today$/);
  });
});

/** A plain TCP balancer: each connection goes to the next server that takes it. */
async function listen(ports: readonly number[]) {
  let next = 0;
  const server = createServer((caller) => {
    const reach = (left: number): void => {
      const port = ports[next++ % ports.length];
      if (left === 0 || port === undefined) return void caller.destroy();
      const reached = connect(port, "127.0.0.1");
      const retry = () => reach(left - 1);
      reached.once("error", retry).once("connect", () => {
        reached.off("error", retry).on("error", () => caller.destroy());
        caller.pipe(reached).pipe(caller);
      });
      reached.once("close", () => caller.destroy());
      caller.once("close", () => reached.destroy());
    };
    caller.on("error", () => {});
    reach(ports.length);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    port,
    async [Symbol.asyncDispose]() {
      server.close();
    },
  };
}
