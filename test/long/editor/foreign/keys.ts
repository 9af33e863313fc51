import assert from "node:assert/strict";
import { servedToolbox } from "../../../cli/toolbox.ts";
import { quota } from "../../../editor/screen/statusBar.ts";
import { pointElsewhere } from "../../../editor/screen/tooltip.ts";
import type { ForeignWindow } from "./foreignWindow.ts";

const chooseKey = "Pipeline Runs: Choose API Key…";

export function keys(at: ForeignWindow): void {
  describe("several keys of one service", () => {
    let tool: Awaited<ReturnType<typeof servedToolbox>>;
    let key: string;
    before(async function () {
      this.timeout(120_000);
      tool = await servedToolbox();
      key = (await tool.service.key("member", "Acme")).secret;
      await at.window.writeSettings({ "pipelineRuns.baseUrl": tool.service.url });
      await at.window.setApiKey(key);
      await at.window.notifications.toast(/^The API key is set: Acme, at http:/);
    });
    after(() => tool[Symbol.asyncDispose]());

    it("keeps another org's key beside it, chosen for this workspace from a list that names the orgs", async () => {
      await at.window.setApiKey((await tool.service.key("viewer", "Zebra")).secret);
      await at.window.notifications.toast(/^The API key is set: Zebra, at http:/);
      await at.window.statusBar.pointAt(quota, "Zebra · tier free");
      await pointElsewhere(at.window.page);
      await at.window.quickInput.runCommand(chooseKey);
      await at.window.quickInput.waitForRow("Zebra");
      assert.deepEqual(
        (await at.window.quickInput.rows()).filter((row) => ["Acme", "Zebra"].includes(row)),
        ["Acme", "Zebra"],
      );
      await at.window.quickInput.pick("Acme");
      await at.window.statusBar.pointAt(quota, "Acme · tier free");
      await pointElsewhere(at.window.page);
      await at.window.quickInput.runCommand(chooseKey);
      const row = await at.window.quickInput.waitForRow("Zebra");
      await row.hover();
      await row.getByRole("button", { name: "Remove API Key" }).click();
      const question = at.window.page.locator(".monaco-dialog-box", {
        hasText: "Remove the API key of Zebra",
      });
      await question.getByRole("button", { name: "Remove", exact: true }).click();
      await at.window.quickInput.waitUntilRowIsGone("Zebra");
      await at.window.quickInput.waitForRow("Acme");
      assert(!(await at.window.quickInput.rows()).includes("Zebra"));
      await at.window.quickInput.dismiss();
    });

    it("tells of a revoked key once, and goes on with the next", async () => {
      const { secret: second, keyId } = await tool.service.key("member", "Acme");
      // What the key before was told of looks the same.
      await at.window.settle();
      await at.window.setApiKey(second);
      // The service has accepted it: the number alone is the same with the key before.
      await at.window.notifications.toast(/^The API key is set: Acme/);
      await at.window.statusBar.waitForText(quota, /^0 of 50 runs used today$/);
      const revoked = await tool.call(["keys", "revoke", keyId]);
      assert.equal(revoked.exitCode, 0, revoked.stderr);
      await at.window.statusBar.waitForText(quota, /API key not accepted$/);
      const toast = await at.window.notifications.toast(/no longer accepts the API key of Acme\.$/);
      assert.deepEqual(await toast.buttons(), ["Set API Key…", "Choose Another…"]);
      await toast.press("Set API Key…");
      await at.window.enterApiKey(key);
      await at.window.statusBar.waitForText(quota, /^0 of 50 runs used today$/);
    });
  });
}
