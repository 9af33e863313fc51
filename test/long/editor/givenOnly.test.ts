import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { chmod, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Locator } from "playwright-core";
import { LoopbackService, orgOnWire, sendError, sendJson } from "../../client/loopbackService.ts";
import { screen } from "../../editor/screen/screen.ts";
import { TreeView } from "../../editor/screen/treeView.ts";
import { testWorkspace } from "../../editor/screen/workspace.ts";
import { isAlive } from "../../isAlive.ts";
import { TemporaryFolder } from "../../temporaryFolder.ts";
import { until } from "../../until.ts";
import { givenKey, givenService } from "../conformance/givenService.ts";

const quota = "pipeline-runs.pipeline-runs.quota";

/** The service's own tool: what it does with a pipeline goes by the pipeline's name. */
const script = `#!${process.execPath}
const { writeFileSync } = require("node:fs");
const { spawn } = require("node:child_process");
const [, , command, what] = process.argv;
writeFileSync(__dirname + "/given", process.argv.slice(2).join(" "));
if (command === "run" && what === "hello") console.error("hello: done");
if (command === "run" && what === "busy") {
  console.error("no slot is free yet");
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
    assert.doesNotMatch(await at.window.statusBar.label(quota), /slots/);
  });

  it("shows what the tool says while it waits, and a stop ends it with all that it started", async () => {
    await start("busy");
    const toast = await at.window.notifications.toast(/^Running busy by .*cloud: no slot is free yet$/);
    await until(async () => existsSync(join(tools, "pid")));
    const pid = Number(await readFile(join(tools, "pid"), "utf8"));
    await toast.press("Cancel");
    await toast.waitUntilGone();
    while (isAlive(pid)) await new Promise((resolve) => setTimeout(resolve, 20));
  });

  it("shows the tool's refusal with the tool's own hints, and can retry", async () => {
    await start("nightly");
    const toast = await at.window.notifications.toast(
      /^nightly was not started: today's .*runs are used up\. .*in 1 h 12 min\. .*Hint: cloud run nightly \(retry after 4321 s\)\.$/,
    );
    assert.deepEqual(await toast.buttons(), ["Retry", "Retry at 00:00 UTC", "What Counts as a Run?"]);
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

  it("says that it can't know who holds the slot", async () => {
    await at.window.quickInput.runCommand("Pipeline Runs: Who Holds the Slot");
    await at.window.notifications.toast(/^127\.0\.0\.1:\d+ doesn't report who holds the slot\.$/);
  });
});

describe("the editor, with a service that tells only what is given of its runs, and has no events", () => {
  const runs: { "run-id": string; status: string; actor?: string; "created-at"?: string }[] = [
    { "run-id": "not/mine", status: "running", actor: "key_2" },
    { "run-id": "no one's", status: "running", "created-at": new Date().toISOString() },
    { "run-id": "old", status: "succeeded", actor: "key_1" },
  ];
  const cancelled: string[] = [];
  let used = 7;
  const at = screen(
    async (held) => {
      const workspace = held.use(await testWorkspace());
      const service = held.use(
        await LoopbackService.listen(({ method, path }, response) => {
          if (path === "/api/org") {
            return sendJson(response, 200, { ...orgOnWire, usage: { "runs-today": used } });
          }
          const id = decodeURIComponent(/^\/api\/runs\/(.+)\/cancel$/.exec(path)?.[1] ?? "");
          const run = runs.find((known) => known["run-id"] === id);
          if (run !== undefined) {
            cancelled.push(id);
            run.status = "cancelled";
            return sendJson(response, 200, { "run-id": id, status: "cancelled" });
          }
          if (path.startsWith("/api/runs?")) return sendJson(response, 200, { runs });
          if (path === "/api/runs" && method === "POST") {
            used += 1;
            const started = { "run-id": "new one", status: "queued", actor: "key_1" };
            runs.unshift(started);
            return sendJson(response, 201, started);
          }
          sendError(response, 404, "not-found", "…");
        }),
      );
      return { folder: workspace.path, settings: { "pipelineRuns.baseUrl": service.origin } };
    },
    async (window) => {
      await window.setApiKey(givenKey);
      await window.statusBar.waitForText(quota, /^7 of 50 runs used today$/);
    },
  );

  it("offers the folder's own pipelines, and tells a start whose end can't be known", async () => {
    const { quickInput, statusBar } = at.window;
    await quickInput.runCommand("Pipeline Runs: Run Pipeline…");
    await quickInput.waitForTitle("Run Pipeline");
    await quickInput.waitForRow("hello");
    await quickInput.waitForRow("long");
    await quickInput.pick("hello");
    await statusBar.waitForMessage(/hello was started\. 127\.0\.0\.1:\d+ doesn't report how runs end\./);
    await statusBar.waitForText(quota, /^8 of 50 runs used today$/);
  });

  it("shows of each run what is told, and nothing else", async () => {
    const view = new TreeView(at.window.page, "Runs");
    await at.window.quickInput.runCommand("Pipelines: Focus on Runs View");
    await view.waitForRow("new one");
    await view.waitForRow("old");
    const rows = await view.rows();
    assert.deepEqual(
      rows.map((row) =>
        row
          .replaceAll(/\s+/g, " ")
          .replace(/since .*/, "since …")
          .trim(),
      ),
      [
        "Running",
        "new onequeued",
        "not/minerunning · by key_2",
        "no one'srunning · since …",
        "Finished",
        "oldsucceeded",
      ],
    );
  });

  it("cancels its own run, leaves the others alone, and says so", async () => {
    const { quickInput, notifications, statusBar } = at.window;
    await quickInput.runCommand("Pipeline Runs: Cancel My Runs");
    await notifications.toast(/^new one: cancelled\.$/);
    await notifications.toast(/^Not cancelled, because the service doesn't say who started it: no one's$/);
    assert.deepEqual(cancelled, ["new one"]);
    assert.match(await statusBar.text(quota), /^8 of 50 runs used today$/);
  });

  it("asks which of several runs to cancel in a list whose times move, and a slow click still picks", async () => {
    const { quickInput, notifications, page } = at.window;
    await quickInput.runCommand("Pipeline Runs: Cancel Run…");
    const row = await quickInput.waitForRow("no one's");
    await row.hover();
    await changed(row);
    await page.mouse.down();
    await changed(row);
    await page.mouse.up();
    await notifications.toast(/^no one's: cancelled\.$/);
    assert.deepEqual(cancelled, ["new one", "no one's"]);
  });

  /** Resolves when the row's text is another than now. */
  async function changed(row: Locator): Promise<void> {
    const before = (await row.textContent()) ?? "";
    assert.match(before, /running for \d/);
    while ((await row.textContent()) === before) await new Promise((resolve) => setTimeout(resolve, 20));
  }
});
