// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the references that pipeline files are written with.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { readConnection } from "../../../src/machine/connectionFile.ts";
import { KeySearch } from "../../security/keySearch.ts";
import { TemporaryFolder } from "../../temporaryFolder.ts";
import { Agent } from "../mcp/agent.ts";
import { toolbox } from "../toolbox.ts";

describe("a start from a terminal", () => {
  if (process.platform === "win32") return;

  it("has that terminal's environment, not that in which the service was first started", async () => {
    await using tool = await toolbox();
    await using shell = await TemporaryFolder.make();
    await tool.write(
      "tell",
      [
        "resources: { sh: { type: cli } }",
        "steps:",
        '  - { use: sh, run: "echo ${{ env.STAGE }} | tr a-z A-Z && f=$(mktemp) && rm $f && env" }',
      ].join("\n"),
    );
    // A git hook in a shell of its own, which goes with its folder, is the first of the day.
    const hook = {
      STAGE: "morning",
      SESSION_SECRET: "of-the-hook",
      PIPELINE_DEPLOY_TOKEN: "of-the-hook",
      GIT_DIR: "/hooked",
      MAKELEVEL: "1",
      NPM_TOKEN: "of-a-person",
      npm_execpath: "/npm",
      npm_config_registry: "of-npm",
      TMPDIR: shell.path,
      TMP: shell.path,
      TEMP: shell.path,
    };
    const first = await tool.run(["run", "tell", "--log"], hook);
    assert.equal(first.exitCode, 0, first.stderr);
    const log = (run: { readonly stdout: string; readonly stderr: string }) => run.stdout + run.stderr;
    assert.match(log(first), /MORNING/);
    assert.match(log(first), /SESSION_SECRET=of-the-hook/);
    assert.match(log(first), /NPM_TOKEN=of-a-person/);
    assert.doesNotMatch(log(first), /GIT_DIR|MAKELEVEL|of-npm/);
    await shell[Symbol.asyncDispose]();

    const second = await tool.run(["run", "tell", "--log"], { STAGE: "evening" });
    assert.equal(second.exitCode, 0, log(second));
    assert.match(log(second), /EVENING/);
    assert.doesNotMatch(log(second), /MORNING|SESSION_SECRET/);

    const third = await tool.run(["run", "tell"]);
    assert.match(
      log(third),
      /`STAGE` isn't set where the run was started, and the pipeline names no `env-file`/,
    );

    const pid = (await readConnection(tool.data))?.pid;
    const environ = `/proc/${pid}/environ`;
    if (existsSync(environ))
      assert.doesNotMatch(await readFile(environ, "utf8"), /of-the-hook|morning|hooked|TMP|TEMP/);
    assert.doesNotMatch(
      await readFile(join(tool.data, "service.log"), "utf8"),
      /of-the-hook|morning|evening/,
    );
  });

  // Such values were torn at their line breaks, and their second lines taken for variables, by other tools.
  it("has values of several lines and a shell's functions as they are", async () => {
    await using tool = await toolbox();
    const text = "-----BEGIN\nTEXT=another text\n\n-----END\n";
    await tool.write(
      "lines",
      [
        "resources: { bash: { type: cli, shell: bash } }",
        "steps:",
        "  - use: bash",
        "    run: |",
        "      greet Ada",
        `      node -p 'JSON.stringify([process.env.PEM, process.env.TEXT ?? null])'`,
      ].join("\n"),
    );
    const ran = await tool.run(["run", "lines", "--log"], {
      PEM: text,
      "BASH_FUNC_greet%%": '() {  echo "hello $1"\n echo "and welcome"\n}',
    });
    const log = ran.stdout + ran.stderr;
    assert.equal(ran.exitCode, 0, log);
    assert.match(log, /^hello Ada\nand welcome$/m);
    assert.ok(log.includes(JSON.stringify([text, null])), log);
  });

  it("has its own where two terminals, an agent, a git hook and a cron job share a service, which keeps nothing of any", async () => {
    await using tool = await toolbox();
    // A value's part behind the dash is printed by nobody.
    const names = ["day", "night", "agent", "hook"] as const;
    const secret = (name: (typeof names)[number]) => `${name}-${secrets[name]}`;
    const secrets = Object.fromEntries(names.map((name) => [name, randomBytes(32).toString("base64url")]));
    await tool.write(
      "who",
      "resources: { sh: { type: cli } }\nsteps: [{ use: sh, run: 'echo \"of the ${WHO%%-*}${GIT_INDEX_FILE-}.\"' }]\n",
    );
    const line = ["run", "who", "--log"];
    // One of the two waits for the other's slot.
    const terminals = await Promise.all(
      (["day", "night"] as const).map((name) => tool.run(line, { WHO: secret(name) })),
    );

    await using agent = await Agent.of(tool, undefined, [], { env: { WHO: secret("agent") } });
    const { run } = (await agent.call("start_run", { pipeline: "who" })).value;
    const agents = await tool.run(["runs", "log", run?.["run-id"] ?? "", "--follow"]);

    const git = (...args: string[]) =>
      execa("git", ["-c", "user.name=a", "-c", "user.email=a@b", ...args], at);
    const at = { cwd: tool.project, env: { ...tool.env, WHO: secret("hook") } };
    await git("init", "--quiet");
    const hook = `#!/bin/sh\nexec "${process.execPath}" "${tool.path}" ${line.join(" ")}\n`;
    await writeFile(join(tool.project, ".git/hooks/pre-commit"), hook, { mode: 0o755 });
    const hooks = await git("commit", "--allow-empty", "-m", "any");

    const env = Object.fromEntries(Object.entries(tool.env).filter(([name]) => /_DIR$/.test(name)));
    const cron = await execa(process.execPath, [tool.path, ...line], {
      cwd: tool.project,
      env,
      extendEnv: false,
    });

    const told = [...terminals, agents, hooks, cron].map(
      ({ stdout, stderr }) => /^of the .*/m.exec(`${stderr}\n${stdout}`)?.[0],
    );
    assert.deepEqual(told, ["of the day.", "of the night.", "of the agent.", "of the hook.", "of the ."]);

    const search = new KeySearch(secrets);
    const { finds } = await search.inFolder(tool.data);
    const environ = `/proc/${(await readConnection(tool.data))?.pid}/environ`;
    if (existsSync(environ)) finds.push(...search.in(await readFile(environ), environ));
    assert.deepEqual(finds, []);
  });
});
