import assert from "node:assert/strict";
import { chmod, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { whenThere } from "../../client/whenThere.ts";
import { givenKey, givenService } from "../../conformance/givenService.ts";
import { isAlive } from "../../isAlive.ts";
import { TemporaryFolder } from "../../temporaryFolder.ts";
import { screen } from "./screen.ts";

const quota = "pipeline-runs.pipeline-runs.quota";

/** The service's own tool: what it does with a pipeline goes by the pipeline's name. */
const script = `#!${process.execPath}
const { writeFileSync } = require("node:fs");
const { spawn } = require("node:child_process");
const [, , command, what] = process.argv;
writeFileSync(__dirname + "/given", process.argv.slice(2).join(" "));
if (command === "run" && what === "hello") console.error("hello: done");
if (command === "run" && what === "busy") {
  console.error("no place is free yet");
  const child = spawn(process.execPath, ["-e", "process.on('SIGINT', () => {}); setInterval(() => {}, 1000)"]);
  writeFileSync(__dirname + "/pid", String(child.pid));
  process.on("SIGINT", () => process.exit(130));
  setInterval(() => {}, 1000);
}
if (command === "run" && what === "nightly") {
  const hints = [{ command: "cloud run nightly", doc: "retry after 4321 s" }];
  const error = { type: "too-many-runs", message: "free-day: 4321 s to go" };
  console.log(JSON.stringify({ ok: false, command: "run", error, hints, warnings: [] }));
  process.exitCode = 5;
}
`;

describe("the editor, with a service that has only the given endpoints", () => {
  let tools: string;
  const at = screen(
    async (held) => {
      tools = held.use(await TemporaryFolder.make()).path;
      const cliPath = join(tools, "cloud");
      await writeFile(cliPath, script);
      await chmod(cliPath, 0o755);
      const service = held.use(await givenService());
      return { settings: { "pipelineRuns.baseUrl": service.origin, "pipelineRuns.cliPath": cliPath } };
    },
    async (window) => {
      await window.setApiKey(givenKey);
      await window.statusBar.waitForText(quota, /^7 of 50 runs used today$/);
    },
  );

  const start = async (pipeline: string) => {
    await at.window.quickInput.runCommand("Pipeline Runs: Run Pipeline…");
    await at.window.quickInput.type(pipeline);
    await at.window.quickInput.pick(`Run “${pipeline}”`);
  };
  const given = () => readFile(join(tools, "given"), "utf8");

  it("starts a run through the service's own tool, and shows no more than can be known", async () => {
    await start("hello");
    await at.window.statusBar.waitForMessage(/hello succeeded/);
    assert.equal(await given(), "run hello");
    assert.doesNotMatch(await at.window.statusBar.label(quota), /places/);
  });

  it("shows what the tool says while it waits, and a stop ends it with all that it started", async () => {
    await start("busy");
    const toast = await at.window.notifications.toast(/^Running busy by .*cloud: no place is free yet$/);
    await whenThere(join(tools, "pid"));
    const pid = Number(await readFile(join(tools, "pid"), "utf8"));
    await toast.press("Cancel");
    await toast.waitUntilGone();
    while (isAlive(pid)) await new Promise((resolve) => setTimeout(resolve, 20));
  });

  it("shows the tool's refusal with the tool's own hints, and can retry", async () => {
    await start("nightly");
    const toast = await at.window.notifications.toast(
      /^nightly was not started: too-many-runs\. .*in 4321 s\. .*Hint: cloud run nightly \(retry after 4321 s\)\.$/,
    );
    assert.deepEqual(await toast.buttons(), ["Retry", "Retry at 00:00 UTC"]);
    await at.window.quickInput.runCommand("Notifications: Clear All Notifications");
  });

  it("cancels a run by its id over HTTP, and mine through the tool", async () => {
    await at.window.quickInput.runCommand("Pipeline Runs: Cancel Run…");
    await at.window.quickInput.waitForTitle("Cancel Run");
    await at.window.quickInput.type("run_1");
    await at.window.quickInput.accept();
    await at.window.notifications.toast(/^run_1: cancelling$/);
    await at.window.quickInput.runCommand("Pipeline Runs: Cancel My Runs");
    await at.window.notifications.toast(/^Your runs are being cancelled\.$/);
    assert.equal(await given(), "runs cancel --mine");
  });

  it("says that it can't know who holds the place", async () => {
    await at.window.quickInput.runCommand("Pipeline Runs: Who Holds the Place");
    await at.window.notifications.toast(/^127\.0\.0\.1:\d+ does not tell who holds the place\.$/);
  });
});
