import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { chmod, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { cancelMineByTool, startByTool } from "../../../src/client/foreignTool/foreignTool.ts";
import type { ForeignTool } from "../../../src/client/foreignTool/toolProcess.ts";
import { FakeClock } from "../../clock/fakeClock.ts";
import { isAlive } from "../../isAlive.ts";
import { TemporaryFolder } from "../../temporaryFolder.ts";
import { until } from "../../until.ts";
import { testKey } from "../loopbackService.ts";

const never = new AbortController().signal;

/** A tool that is a real program: it notes what it was given, then does what the test says. */
async function toolThat(folder: TemporaryFolder, does: string): Promise<ForeignTool> {
  const cliPath = join(folder.path, "plctl");
  const script = `#!${process.execPath}
import { writeFileSync } from "node:fs";
const { argv, env } = process;
writeFileSync("given.json", JSON.stringify({ args: argv.slice(2), cwd: process.cwd(), key: env.PIPELINE_API_KEY, url: env.PIPELINE_BASE_URL, color: env.COLOR, names: Object.keys(env) }));
${does}
`;
  await writeFile(`${cliPath}.mjs`, script);
  await writeFile(cliPath, `#!/bin/sh\nexec "${process.execPath}" "${cliPath}.mjs" "$@"\n`);
  await chmod(cliPath, 0o755);
  return {
    cliPath,
    baseUrl: new URL("https://pipelines.example.com/x/"),
    apiKey: testKey,
    cwd: folder.path,
    env: { PATH: process.env["PATH"], COLOR: "teal" },
    clock: new FakeClock(),
  };
}

async function given(folder: TemporaryFolder): Promise<Record<string, unknown>> {
  return JSON.parse(await readFile(join(folder.path, "given.json"), "utf8"));
}

// The tool of these tests is a script that begins with `#!`, which Windows doesn't run.
const onSystemsWithScripts = process.platform === "win32" ? () => undefined : describe;

onSystemsWithScripts("a service's own command-line tool", () => {
  it("is given the pipeline as its argument, and the key only in its environment", async () => {
    await using folder = await TemporaryFolder.make();
    const tool = await toolThat(folder, "");
    assert.deepEqual(await startByTool(tool, "two words; $(reboot)", never), { kind: "done" });
    const { names: _, ...others } = await given(folder);
    assert.deepEqual(others, {
      args: ["run", "two words; $(reboot)"],
      cwd: folder.path,
      key: testKey,
      url: "https://pipelines.example.com/x",
      color: "teal",
    });
  });

  it("is given nothing of the editor's", async () => {
    await using folder = await TemporaryFolder.make();
    const tool = await toolThat(folder, "");
    const editors = {
      VSCODE_PID: "1",
      VSCODE_IPC_HOOK: "/tmp/x",
      ELECTRON_RUN_AS_NODE: "1",
      NODE_OPTIONS: "--inspect-publish-uid=http",
    };
    await startByTool({ ...tool, env: { ...tool.env, ...editors } }, "nightly", never);
    const { names } = await given(folder);
    assert.ok(Array.isArray(names) && names.includes("COLOR"));
    for (const name of Object.keys(editors)) assert.ok(!names.includes(name), name);
  });

  it("refuses with exit code 5 and its object", async () => {
    await using folder = await TemporaryFolder.make();
    const object = {
      ok: false,
      command: "run",
      error: { type: "too-many-runs", message: "Scope free-day, 4321 s to go" },
      hints: [{ command: "plctl run nightly", doc: "retry after 4321 s" }],
      warnings: [],
    };
    const tool = await toolThat(
      folder,
      `console.error("working"); console.log(${JSON.stringify(JSON.stringify(object))}); process.exitCode = 5;`,
    );
    assert.deepEqual(await startByTool(tool, "nightly", never), {
      kind: "refused",
      refusal: { scope: "free-day", secondsToReset: 4321 },
      message: "Scope free-day, 4321 s to go",
      hints: object.hints,
    });
  });

  it("breaks the contract with exit code 5 and anything else", async () => {
    await using folder = await TemporaryFolder.make();
    const tool = await toolThat(folder, `console.log("no more runs"); process.exitCode = 5;`);
    await assert.rejects(startByTool(tool, "nightly", never), {
      type: "breaks-contract",
      message: `${tool.cliPath} run ended with exit code 5, but its output is not one JSON object.`,
    });
  });

  it("fails with its own words, but without the key", async () => {
    await using folder = await TemporaryFolder.make();
    const tool = await toolThat(
      folder,
      `console.error("first\\nno such pipeline\\nkey was " + env.PIPELINE_API_KEY); process.exitCode = 2;`,
    );
    await assert.rejects(startByTool(tool, "nightly", never), {
      type: "internal",
      message: `${tool.cliPath} run ended with exit code 2: first / no such pipeline / key was (the API key)`,
    });
  });

  it("cancels the runs of the key", async () => {
    await using folder = await TemporaryFolder.make();
    await cancelMineByTool(await toolThat(folder, ""), never);
    assert.deepEqual((await given(folder))["args"], ["runs", "cancel", "--mine"]);
    const broken = await toolThat(folder, "process.exit(7)");
    await assert.rejects(cancelMineByTool(broken, never), {
      message: /runs cancel ended with exit code 7\.$/,
    });
  });

  it("that isn't there is told with the setting to correct", async () => {
    await using folder = await TemporaryFolder.make();
    const tool = { ...(await toolThat(folder, "")), cliPath: join(folder.path, "nothing") };
    await assert.rejects(startByTool(tool, "nightly", never), {
      type: "invalid-request",
      next: "Correct the setting pipelineRuns.cliPath.",
    });
  });

  it("is not given a name that it would read as an option", async () => {
    await using folder = await TemporaryFolder.make();
    const tool = await toolThat(folder, "");
    for (const name of ["", "--parallel=9", "-x"]) {
      await assert.rejects(startByTool(tool, name, never), { type: "invalid-request" });
    }
    await assert.rejects(given(folder), { code: "ENOENT" });
  });

  it("is interrupted by an abort", async () => {
    await using folder = await TemporaryFolder.make();
    const clock = new FakeClock();
    const program = await toolThat(
      folder,
      `process.on("SIGINT", () => { writeFileSync("interrupted", ""); process.exit(130); });
       setTimeout(() => {}, 40_000); writeFileSync("ready", "");`,
    );
    const tool = { ...program, clock };
    const stop = new AbortController();
    const started = startByTool(tool, "nightly", stop.signal);
    await until(async () => existsSync(join(folder.path, "ready")));
    stop.abort(new Error("enough"));
    await assert.rejects(started, /enough/);
    await readFile(join(folder.path, "interrupted"));
    assert.equal(clock.alarms, 0);
  });

  it("is killed when it takes no notice of that for 5 s", async () => {
    await using folder = await TemporaryFolder.make();
    const clock = new FakeClock();
    const script = `process.on("SIGINT", () => writeFileSync("deaf", "")); setTimeout(() => {}, 40_000); writeFileSync("ready", "");`;
    const tool = { ...(await toolThat(folder, script)), clock };
    const stop = new AbortController();
    const started = startByTool(tool, "nightly", stop.signal);
    await until(async () => existsSync(join(folder.path, "ready")));
    stop.abort(new Error("enough"));
    await until(async () => existsSync(join(folder.path, "deaf")));
    clock.advance(5000);
    await assert.rejects(started, /enough/);
  });

  it("tells what it says meanwhile, line by line, without the key", async () => {
    await using folder = await TemporaryFolder.make();
    const tool = await toolThat(
      folder,
      `process.stderr.write("no place yet\\n\\u001b[31mwait" + "ing with " + env.PIPELINE_API_KEY + "\\r\\nhalf a li");`,
    );
    const told: string[] = [];
    await startByTool({ ...tool, onProgress: (line) => told.push(line) }, "nightly", never);
    assert.equal(told.at(-1), "[31mwaiting with (the API key)");
    assert(!told.join().includes("half"), "a line is told once it is whole");
  });

  it("takes all that it has started with it when it is stopped", async () => {
    await using folder = await TemporaryFolder.make();
    const clock = new FakeClock();
    // A child that heeds no interrupt, and keeps the tool's pipes open.
    const child = `process.on("SIGINT", () => {}); require("node:fs").writeFileSync("child", String(process.pid)); setInterval(() => {}, 1000);`;
    const script = `const { spawn } = await import("node:child_process");
      spawn(process.execPath, ["-e", ${JSON.stringify(child)}], { stdio: "inherit" });
      process.on("SIGINT", () => process.exit(130)); setTimeout(() => {}, 40_000);`;
    const tool = { ...(await toolThat(folder, script)), clock };
    const stop = new AbortController();
    const started = startByTool(tool, "nightly", stop.signal);
    await until(async () => existsSync(join(folder.path, "child")));
    const pid = await pidIn(join(folder.path, "child"));
    stop.abort(new Error("enough"));
    await assert.rejects(started, /enough/);
    while (isAlive(pid)) await new Promise((resolve) => setTimeout(resolve, 10));
  });

  it("keeps only the beginning of what it writes without end", async () => {
    await using folder = await TemporaryFolder.make();
    const tool = await toolThat(
      folder,
      `for (let i = 0; i < 64; i++) process.stdout.write("x".repeat(65536)); process.exitCode = 5;`,
    );
    await assert.rejects(startByTool(tool, "nightly", never), { type: "breaks-contract" });
  });
});

async function pidIn(file: string): Promise<number> {
  for (;;) {
    const pid = Number(await readFile(file, "utf8"));
    if (pid > 0) return pid;
  }
}
