import assert from "node:assert/strict";
import { nextReset } from "../../../../src/contract/time.ts";
import { testKey } from "../../../client/loopbackService.ts";
import { ScriptedService } from "../../../editor/screen/scriptedService.ts";
import { quota } from "../../../editor/screen/statusBar.ts";
import type { ForeignWindow } from "./foreignWindow.ts";

export function refusals(there: () => ForeignWindow): void {
  describe("a service that refuses", () => {
    const at = {
      get window() {
        return there().window;
      },
    };
    let service: ScriptedService;
    before(async function () {
      this.timeout(60_000);
      service = await ScriptedService.listen();
      await at.window.writeSettings({ "pipelineRuns.baseUrl": service.origin });
      await at.window.setApiKey(testKey);
      await at.window.statusBar.waitForUsed(0);
    });
    after(() => service[Symbol.asyncDispose]());

    const start = async () => {
      await at.window.quickInput.runCommand("Pipeline Runs: Run Pipeline…");
      await at.window.quickInput.type("hello");
      await at.window.quickInput.pick("Run “hello”");
    };
    /** Stops the service's clock so many seconds before its day ends. */
    const stopBeforeReset = (seconds: number) => {
      service.standsAt = nextReset(Date.now()) - seconds * 1000;
    };

    it("puts a start off until 00:00 UTC, keeps it over a reload, and lets it be taken back", async () => {
      service.used = 50;
      stopBeforeReset(3600);
      const before = service.starts;
      await start();
      const refusal = await at.window.notifications.toast(
        /^hello was not started: today's 50 runs are used up\. /,
      );
      assert.deepEqual(await refusal.buttons(), ["Retry", "Retry at 00:00 UTC", "What Counts as a Run?"]);
      await refusal.press("Retry at 00:00 UTC");
      await at.window.notifications.toast(/^hello will start at 00:00 UTC \(.+ your time\)/);
      await at.window.statusBar.waitForText(quota, /^\s*50 of 50 runs used today · hello at 00:00 UTC$/);
      await at.window.reload();
      await at.window.statusBar.waitForText(quota, /^\s*50 of 50 runs used today · hello at 00:00 UTC$/);
      await at.window.quickInput.runCommand("Pipeline Runs: Cancel Retry…");
      await at.window.notifications.toast(/^hello will not be started at 00:00 UTC\.$/);
      await at.window.statusBar.waitForText(quota, /^\s*50 of 50 runs used today$/);
      assert.equal(service.starts, before + 1);
    });

    it("makes the start once the service's day has begun", async () => {
      stopBeforeReset(1);
      await start();
      await (await at.window.notifications.toast(/^hello was not started/)).press("Retry at 00:00 UTC");
      await at.window.notifications.toast(/^hello will start at 00:00 UTC/);
      const before = service.starts;
      stopBeforeReset(0);
      service.used = 0;
      // Some seconds pass, so that not everybody comes at once.
      await at.window.statusBar.waitForText(quota, /^\s*1 of 50 runs used today$/);
      assert.equal(service.starts, before + 1);
    });
  });
}
