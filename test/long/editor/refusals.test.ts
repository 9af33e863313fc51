import assert from "node:assert/strict";
import { nextReset } from "../../../src/contract/time.ts";
import { testKey } from "../../client/loopbackService.ts";
import { hurried, hurriedArgument } from "../../clock/preload.ts";
import { screen } from "../../editor/screen/screen.ts";
import { ScriptedService } from "../../editor/screen/scriptedService.ts";

const quota = "pipeline-runs.pipeline-runs.quota";

describe("the editor, with a service that refuses", () => {
  let service: ScriptedService;
  const at = screen(
    async (held) => {
      service = held.use(await ScriptedService.listen());
      // The 120 s of a wait pass in 15 for the window.
      return {
        settings: { "pipelineRuns.baseUrl": service.origin },
        env: hurried(8),
        nodeArguments: [hurriedArgument],
      };
    },
    async (window) => {
      await window.setApiKey(testKey);
      await window.statusBar.waitForText(quota, /^\s*0 of 50 runs used today$/);
      await clear();
    },
  );

  const clear = () => at.window.quickInput.runCommand("Notifications: Clear All Notifications");
  const start = async (pipeline: string) => {
    await at.window.quickInput.runCommand("Pipeline Runs: Run Pipeline…");
    await at.window.quickInput.type(pipeline);
    await at.window.quickInput.pick(pipeline);
  };
  const aboutHello = async () =>
    (await at.window.notifications.toasts()).filter((text) => text.includes("hello"));
  /** Stops the service's clock so many seconds before its day ends. */
  const stopBeforeReset = (seconds: number) => {
    service.standsAt = nextReset(Date.now()) - seconds * 1000;
  };

  it("shows the wait with who holds the slot, and in its stead, once it is over, the refusal", async () => {
    service.begin({ "run-id": "run_long", pipeline: "long", actor: "key_2", "time-limit-seconds": 3600 });
    await start("hello");
    const wait = await at.window.notifications.toast(
      /^hello is waiting for long \(by key_2\) to finish; gives up in \d+ s$/,
    );
    await at.window.statusBar.waitForText(quota, /^\s*0 of 50 runs used today · waiting; gives up in \d+ s$/);
    const refusal = await at.window.notifications.toast(
      /^hello was not started: another run holds the slot, and it did not become free within 2 min( \d+ s)?\. Hint: pipeline runs cancel --mine/,
      60_000,
    );
    await wait.waitUntilGone();
    assert.deepEqual(await refusal.buttons(), ["Retry", "Who Holds the Slot"], "none of them is mine");
    assert.equal((await aboutHello()).length, 1);
  });

  it("tells who holds the slot, whose run it is and how long it may still take, and waits for it", async () => {
    await (await at.window.notifications.toast(/^hello was not started/)).press("Who Holds the Slot");
    await at.window.quickInput.waitForTitle("Who Holds the Slot");
    await at.window.quickInput.waitForRow("Run hello when long finishes");
    const box = at.window.page.locator(".quick-input-widget:visible");
    await box.getByPlaceholder(/^Free within \d+ min( \d+ s)?$/).waitFor();
    await box.getByText(/^shop · run_long · since .+ · time limit .+$/).waitFor();
    await at.window.quickInput.pick("Run hello when long finishes");
    await at.window.notifications.toast(/^Waiting for long to finish$/);
    service.endAll("succeeded");
    // That it has succeeded is told for a moment only in a window whose time is hurried.
    await at.window.statusBar.waitForText(quota, /^\s*1 of 50 runs used today$/);
    assert.deepEqual(await aboutHello(), []);
  });

  it("puts a start off until 00:00 UTC, keeps it over a reload, and lets it be taken back", async () => {
    service.used = 50;
    stopBeforeReset(3600);
    const before = service.starts;
    await start("hello");
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
    await clear();
  });

  it("makes the start once the service's day has begun", async () => {
    stopBeforeReset(1);
    await start("hello");
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
