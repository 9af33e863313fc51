import assert from "node:assert/strict";
import { chmod, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Locator } from "playwright-core";
import { LoopbackService, orgOnWire, sendError, sendJson } from "../../../client/loopbackService.ts";
import { quota } from "../../../editor/screen/statusBar.ts";
import { TreeView } from "../../../editor/screen/treeView.ts";
import { isAlive } from "../../../isAlive.ts";
import { writtenPid } from "../../../service/startedService.ts";
import { TemporaryFolder } from "../../../temporaryFolder.ts";
import { until } from "../../../until.ts";
import { givenKey, givenService } from "../../conformance/givenService.ts";
import type { ForeignWindow } from "./foreignWindow.ts";

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
`;

export function givenOnly(at: ForeignWindow): void {
  describe("a service that has only the given endpoints", () => {
    let tools: string;
    const held = new AsyncDisposableStack();
    before(async function () {
      this.timeout(120_000);
      tools = held.use(await TemporaryFolder.make()).path;
      const cliPath = join(tools, "cloud");
      await writeFile(cliPath, script);
      await chmod(cliPath, 0o755);
      const service = held.use(await givenService());
      await at.window.writeSettings({
        "pipelineRuns.baseUrl": service.origin,
        "pipelineRuns.cliPath": cliPath,
      });
      await at.window.setApiKey(givenKey);
      await at.window.statusBar.waitForUsed(7);
    });
    after(() => held.disposeAsync());

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
      const pid = await writtenPid(join(tools, "pid"));
      await toast.press("Cancel");
      await toast.waitUntilGone();
      await until(async () => !isAlive(pid));
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
  });

  describe("a service that tells only what is given of its runs, and has no events", () => {
    const runs: { "run-id": string; status: string; actor?: string; "created-at"?: string }[] = [
      { "run-id": "not/mine", status: "running", actor: "key_2" },
      { "run-id": "no one's", status: "running", "created-at": new Date().toISOString() },
      { "run-id": "old", status: "succeeded", actor: "key_1" },
    ];
    const cancelled: string[] = [];
    const held = new AsyncDisposableStack();
    before(async function () {
      this.timeout(120_000);
      const service = held.use(
        await LoopbackService.listen(({ path }, response) => {
          if (path === "/api/org") {
            return sendJson(response, 200, { ...orgOnWire, usage: { "runs-today": 7 } });
          }
          const id = decodeURIComponent(/^\/api\/runs\/(.+)\/cancel$/.exec(path)?.[1] ?? "");
          const run = runs.find((known) => known["run-id"] === id);
          if (run !== undefined) {
            cancelled.push(id);
            run.status = "cancelled";
            return sendJson(response, 200, { "run-id": id, status: "cancelled" });
          }
          if (path.startsWith("/api/runs?")) return sendJson(response, 200, { runs });
          sendError(response, 404, "not-found", "…");
        }),
      );
      await at.window.writeSettings({ "pipelineRuns.baseUrl": service.origin });
      await at.window.setApiKey(givenKey);
      await at.window.statusBar.waitForUsed(7);
    });
    after(() => held.disposeAsync());

    it("shows of each run what is told, and nothing else", async () => {
      const view = new TreeView(at.window.page, "Runs");
      await at.window.quickInput.runCommand("Pipelines: Focus on Runs View");
      await view.waitForRow("old");
      const rows = await view.rows();
      assert.deepEqual(
        rows.map((row) =>
          row
            .replaceAll(/\s+/g, " ")
            .replace(/since .*/, "since …")
            .trim(),
        ),
        ["Running", "not/minerunning · by key_2", "no one'srunning · since …", "Finished", "oldsucceeded"],
      );
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
      assert.deepEqual(cancelled, ["no one's"]);
    });

    /** Resolves when the row's text is another than now. */
    async function changed(row: Locator): Promise<void> {
      const before = (await row.textContent()) ?? "";
      assert.match(before, /running for \d/);
      await until(async () => (await row.textContent()) !== before);
    }
  });
}
