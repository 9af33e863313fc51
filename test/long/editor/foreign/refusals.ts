import assert from "node:assert/strict";
import { nextReset } from "../../../../src/contract/day.ts";
import { LoopbackService, orgOnWire, sendJson, testKey } from "../../../client/loopbackService.ts";
import { quota } from "../../../editor/screen/statusBar.ts";
import type { ForeignWindow } from "./foreignWindow.ts";

export function refusals(at: ForeignWindow): void {
  describe("a service that refuses", () => {
    let service: LoopbackService;
    /** Where the service's clock stands, in milliseconds since 1970. */
    let now = Date.now();
    before(async function () {
      this.timeout(120_000);
      service = await LoopbackService.listen(({ method, path }, response) => {
        response.setHeader("date", new Date(now).toUTCString());
        if (path === "/api/org") {
          return sendJson(response, 200, { ...orgOnWire, usage: { "runs-today": 50 } });
        }
        if (path === "/api/pipelines") return sendJson(response, 200, { pipelines: [] });
        if (method !== "POST" || path !== "/api/runs") return response.writeHead(404).end();
        sendJson(response, 429, {
          error: { type: "too-many-runs", message: "no", scope: "free-day" },
        });
      });
      await at.window.writeSettings({ "pipelineRuns.baseUrl": service.origin });
      await at.window.setApiKey(testKey);
      await at.window.statusBar.waitForUsed(50);
    });
    after(() => service[Symbol.asyncDispose]());

    const start = async () => {
      await at.window.quickInput.runCommand("Pipeline Runs: Run Pipeline…");
      await at.window.quickInput.type("tonight");
      await at.window.quickInput.pick("Run “tonight”");
    };
    /** Stops the service's clock so many seconds before its day ends. */
    const stopBeforeReset = (seconds: number) => {
      now = nextReset(Date.now()) - seconds * 1000;
    };
    const starts = () =>
      service.asked.filter(({ method, path }) => method === "POST" && path === "/api/runs").length;

    it("puts a start off until 00:00 UTC, keeps it over a reload, and lets it be taken back", async () => {
      stopBeforeReset(3600);
      const before = starts();
      await start();
      const refusal = await at.window.notifications.toast(
        /^tonight was not started: today's 50 runs are used up\. /,
      );
      assert.deepEqual(await refusal.buttons(), ["Retry", "Retry at 00:00 UTC", "What Counts as a Run?"]);
      await refusal.press("Retry at 00:00 UTC");
      await at.window.notifications.toast(/^tonight will start at 00:00 UTC \(.+ your time\)/);
      await at.window.statusBar.waitForText(quota, /^50 of 50 runs used today · tonight at 00:00 UTC$/);
      await at.window.reload();
      await at.window.statusBar.waitForText(quota, /^50 of 50 runs used today · tonight at 00:00 UTC$/);
      await at.window.quickInput.runCommand("Pipeline Runs: Cancel Retry…");
      await at.window.notifications.toast(/^tonight will not be started at 00:00 UTC\.$/);
      await at.window.statusBar.waitForText(quota, /^50 of 50 runs used today$/);
      assert.equal(starts(), before + 1);
    });
  });
}
