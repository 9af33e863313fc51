import assert from "node:assert/strict";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { type AddressInfo, connect, createServer } from "node:net";
import { join } from "node:path";
import { execa } from "execa";
import { type Toolbox, toolbox, written } from "../../cli/toolbox.ts";
import { screen } from "../../editor/screen/screen.ts";
import { testWorkspace } from "../../editor/screen/workspace.ts";
import { postgresFolder } from "../../postgres/installPostgres.ts";
import { StartedPostgres } from "../../postgres/startedPostgres.ts";
import { Team } from "../../service/many/team.ts";

const quota = "pipeline-runs.pipeline-runs.quota";

describe("the editor, with a service on many machines", function () {
  this.timeout(120_000);
  const native = postgresFolder();
  // Where there is no PostgreSQL for the tests, there are no tests of it.
  if (native === undefined) return;
  let team: Team;
  let first: ReturnType<Toolbox["spawn"]>;
  let address: string;
  const at = screen(
    async (held) => {
      const postgres = held.use(await StartedPostgres.start(native, AbortSignal.timeout(110_000)));
      team = held.use(await Team.make(`${postgres.server}postgres`));
      await team.startRunner();
      const tool = held.use(await toolbox());
      first = tool.spawn(["serve", "--database", `${postgres.server}postgres`, "--port", "0"]);
      const [, port] = await written(first.stdout, /Serving at http:\/\/[^:]+:(\d+)/);
      held.defer(async () => {
        first.kill("SIGKILL");
        await first;
      });
      const second = new URL(team.servers[0]?.url ?? "").port;
      const balancer = held.use(await listen([Number(port), Number(second)]));
      address = `http://127.0.0.1:${balancer.port}`;
      const { path: folder } = held.use(await testWorkspace());
      await writeFile(join(folder, "greeting.txt"), "hello from a file of the project\n");
      await writeFile(join(folder, "pipelines/greet.yaml"), greet(address));
      await execa("git", ["init", "--quiet"], { cwd: folder });
      return { folder, settings: { "pipelineRuns.baseUrl": address } };
    },
    async (window) => {
      await window.setApiKey(team.memberKey);
      await window.statusBar.waitForText(quota, /^0 of 50 runs used today$/);
    },
  );

  const run = async (name: string) => {
    await at.window.quickInput.runCommand("Pipeline Runs: Run Pipeline…");
    await at.window.quickInput.pick(name);
  };

  it("runs a pipeline of the window's folder, with its files and every type of resource, on a runner", async () => {
    await run("greet");
    await at.window.statusBar.waitForMessage(/greet succeeded/);
    await at.window.statusBar.waitForText(quota, /^1 of 50 runs used today$/);
  });

  it("waits for the slot while one of two servers is killed, and gets it", async () => {
    const held = await team.start(0, "sleep 60");
    await run("greet");
    await at.window.statusBar.waitForText(quota, /2 of 50 runs used today · waiting; gives up in \d+ s$/);
    first.kill("SIGKILL");
    await first;
    await team.client(0).cancel(held.runId, new AbortController().signal);
    await at.window.statusBar.waitForMessage(/greet succeeded/);
    await at.window.statusBar.waitForText(quota, /^3 of 50 runs used today$/);
  });

  it("cancels a run on the runner, and the page shows all of them", async () => {
    await run("long");
    await at.window.statusBar.waitForText(quota, /^4 of 50 runs used today$/);
    await at.window.quickInput.runCommand("Pipeline Runs: Cancel Run…");
    await at.window.notifications.toast(/^long: cancelled\.$/);
    const page = await at.window.page.context().newPage();
    await page.goto(`${address}/app/runs`);
    await page.getByLabel("API key").fill(team.memberKey);
    await page.getByLabel("API key").press("Enter");
    await page.getByText("4 of 50 runs used today").first().waitFor();
    assert.deepEqual(
      await Promise.all([
        page.locator("tbody th a").allTextContents(),
        page.locator("tbody .status").allTextContents(),
      ]),
      [
        ["long", "greet", "hello", "greet"],
        ["Cancelled", "Succeeded", "Cancelled", "Succeeded"],
      ],
    );
    await page.close();
  });
});

/** One step of each type; the service itself is what is asked and visited. */
function greet(address: string): string {
  return `
resources:
  shell: { type: cli }
  service: { type: http, base-url: "${address}" }
  visitor: { type: browser, base-url: "${address}" }
  books: { type: sql, url: "sqlite::memory:" }
time-limit: 60s
steps:
  - { use: shell, run: cat greeting.txt, expect: { output: from a file } }
  - { use: service, get: /healthz, expect: { status: 200 } }
  - { use: visitor, goto: /app/runs, expect: { text: API key } }
  - { use: books, query: select 1 as one, expect: { rows: [{ one: 1 }] } }
`;
}

/** A plain TCP balancer: each connection goes to the first server that takes it. */
async function listen(ports: readonly number[]) {
  const server = createServer((caller) => {
    const reach = ([port, ...others]: readonly number[]): void => {
      if (port === undefined) return void caller.destroy();
      const reached = connect(port, "127.0.0.1");
      const retry = () => reach(others);
      reached.once("error", retry).once("connect", () => {
        reached.off("error", retry).on("error", () => {});
        reached.once("close", () => caller.destroy());
        caller.pipe(reached).pipe(caller);
      });
      caller.once("close", () => reached.destroy());
    };
    caller.on("error", () => {});
    reach(ports);
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
