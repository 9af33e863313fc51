import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { quota } from "../../../editor/screen/statusBar.ts";
import { givenKey, givenService } from "../../conformance/givenService.ts";
import type { ForeignWindow } from "./foreignWindow.ts";

const run = "Pipeline Runs: Run Pipeline…";

export function hostile(at: ForeignWindow): void {
  describe("a workspace that means harm", () => {
    const assertNoHarm = async () => {
      assert.equal(at.around.caught(), 0, "its address was asked for nothing");
      assert(!(await readdir(at.around.parent)).includes("trace"), "its script was not run");
    };

    it("runs nothing of it and sends nothing before it is trusted, and says so once", async () => {
      await at.window.quickInput.runCommand(run);
      const toast = await at.window.notifications.toast(
        /^Pipelines of a workspace that isn't trusted are not run/,
      );
      assert.equal((await at.window.notifications.toasts()).length, 1);
      await assertNoHarm();
      assert.equal(await at.window.statusBar.item(quota).count(), 0);
      assert.deepEqual(await readdir(at.around.data), [], "no service was started");
      await toast.press("Manage Workspace Trust");
      await at.window.page.locator(".workspace-trust-editor").waitFor();
      await at.window.page
        .locator(".workspace-trust-editor")
        .getByRole("button", { name: "Trust", exact: true })
        .first()
        .click();
    });

    it("uses none of its settings once it is trusted, and says so once", async () => {
      await at.window.statusBar.waitUntilGone("status.workspaceTrust");
      await at.window.notifications.toast(
        /^A file of this workspace sets pipelineRuns\.announce, pipelineRuns\.baseUrl, pipelineRuns\.cliPath\. It is not used/,
      );
      await at.window.waitUntilKept("toldIgnoredSettings");
      await at.window.reload();
      await at.window.statusBar.waitForText(quota, /^0 of 50 runs used today$/);
      assert.deepEqual(await at.window.notifications.toasts(), []);
      await assertNoHarm();
    });

    it("shows what a run of it says as it is, and makes no link of it", async () => {
      await at.window.quickInput.runCommand(run);
      await at.window.quickInput.pick("harm");
      const toast = await at.window.notifications.toast(/^harm failed: .*\[Fix it\] \(command:/);
      assert.match(await toast.message(), /<img src=x>/);
      const links = at.window.page.locator(".notifications-toasts .notification-list-item-message a");
      assert.equal(await links.count(), 0);
      await assertNoHarm();
    });

    it("runs no tool that lies in it, also where the person's own settings name it", async () => {
      await using given = await givenService();
      await at.window.writeSettings({
        "pipelineRuns.baseUrl": given.origin,
        "pipelineRuns.cliPath": join(at.around.workspace, "evil"),
      });
      await at.window.setApiKey(givenKey);
      await at.window.notifications.toast(/^The API key is set/);
      await at.window.quickInput.runCommand(run);
      await at.window.quickInput.pick("harm");
      await at.window.notifications.toast(
        /pipelineRuns\.cliPath can't be used: .*lies in a folder of this window/,
      );
      await assertNoHarm();
    });
  });
}
