import assert from "node:assert/strict";
import { programPipeline } from "../../service/startedService.ts";
import { servedToolbox } from "../toolbox.ts";
import { words } from "../words.ts";

/** A call of each command but those that begin or end a service, which have tests of their own. */
const calls: Readonly<Record<string, readonly string[]>> = {
  run: ["run", "hello", "bad"],
  "runs list": ["runs", "list"],
  "runs show": ["runs", "show", "run_1"],
  "runs log": ["runs", "log", "run_1"],
  "runs diff": ["runs", "diff", "run_1"],
  "runs file": ["runs", "file", "run_1"],
  "runs download": ["runs", "download", "run_1"],
  "runs cancel": ["runs", "cancel", "--mine"],
  pipelines: ["pipelines"],
  validate: ["validate"],
  org: ["org"],
  page: ["page"],
  backup: ["backup", "copy.db"],
  "service status": ["service", "status"],
  "service where": ["service", "where"],
  login: ["login", "http://127.0.0.1:9"],
  logout: ["logout"],
  logins: ["logins"],
  "keys create": ["keys", "create", "--role", "member", "--org", "Acme"],
  "keys list": ["keys", "list"],
  "keys revoke": ["keys", "revoke", "key_1"],
  "orgs list": ["orgs", "list"],
  "orgs set": ["orgs", "set", "--org", "Acme", "--tier", "team"],
  runner: ["runner", "--service", "http://127.0.0.1:9"],
  mcp: ["mcp"],
  completion: ["completion", "bash"],
  help: ["help", "run"],
};

/** What reads standard input, and what shows how a process heeds its environment. */
const asProcesses = new Set(["run", "login", "mcp", "help"]);

describe("where colours and prose are declined", () => {
  let tool: Awaited<ReturnType<typeof servedToolbox>>;
  before(async () => {
    tool = await servedToolbox();
    await tool.write("hello", programPipeline(""));
    await tool.write("bad", "steps: 3\n");
  });
  after(() => tool[Symbol.asyncDispose]());

  for (const command of words().program.leaves()) {
    const name = command.words();
    if (["serve", "service stop", "service restart"].includes(name)) continue;
    it(`${name} prints no escape, and with --quiet only results, warnings and errors`, async () => {
      const args = calls[name];
      assert(args !== undefined, `no call of ${name} is known here`);
      const env = { FORCE_COLOR: "1", PIPELINE_CONFIG_DIR: tool.data };
      const start = asProcesses.has(name) ? tool.run : tool.call;
      const ends = [
        await start([...args, "--no-color", "--quiet"], env),
        await start([...args, "--json"], { ...env, NO_COLOR: "1" }),
        await start(args, { ...env, FORCE_COLOR: undefined, TERM: "dumb" }),
      ];
      for (const { stdout, stderr } of ends) {
        assert(!`${stdout}${stderr}`.includes("\u001b"), JSON.stringify(stdout + stderr));
      }
      if (ends[0]?.exitCode === 0) assert.equal(ends[0].stderr, "");
    });
  }
});
