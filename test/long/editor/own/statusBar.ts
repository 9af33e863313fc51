import assert from "node:assert/strict";
import type { OwnService } from "../../../editor/screen/ownService.ts";
import { quota } from "../../../editor/screen/statusBar.ts";
import { pointElsewhere } from "../../../editor/screen/tooltip.ts";
import { standsStill } from "../../../editor/screen/waitFor.ts";

export function statusBar(at: OwnService): void {
  describe("the status bar", () => {
    it("tells file, line and column of a broken pipeline file, and opens it there", async () => {
      await at.window.quickInput.runCommand("Pipeline Runs: Run Pipeline…");
      await at.window.quickInput.type("broken");
      await at.window.page
        .locator(".quick-input-list .monaco-list-row", { hasText: "broken" })
        .first()
        .click();
      const toast = await at.window.notifications.toast(/pipelines\/broken\.yaml:2:\d+: /);
      await toast.press("Open File");
      await at.window.page.locator('.tab[aria-label*="broken.yaml"]').waitFor();
    });

    it("runs the file that is open, from its editor's title", async () => {
      await at.window.page.keyboard.press("Control+p");
      await at.window.quickInput.type("hello.yaml");
      await at.window.quickInput.pick("hello.yaml");
      await at.window.page.locator('.tab.active[aria-label*="hello.yaml"]').waitFor();
      // The editor's actions are drawn anew while the file is getting its language.
      const action = at.window.page.locator('.editor-actions a[aria-label^="Run This File"]');
      await action.waitFor();
      await standsStill(at.window.page, ".editor-actions a");
      await action.click();
      await at.window.statusBar.waitForMessage(/hello succeeded/);
    });

    it("starts a run by a link of the tooltip, and names it there while it is active", async () => {
      const hover = await at.window.statusBar.pointAt(quota, "Run Pipeline…");
      await hover.getByRole("link", { name: "Run Pipeline…" }).click();
      await at.window.quickInput.pick("long");
      await pointElsewhere(at.window.page);
      await at.window.statusBar.pointAt(quota, "1 of 1 slots in use: long (yours)");
      await pointElsewhere(at.window.page);
    });

    it("is named by the words of the screen for a screen reader, and opens a menu by a click, whose entries do what they say", async () => {
      assert.match(await at.window.statusBar.label(quota), /^Pipeline Runs: \d+ of 50 runs used today/);
      await at.window.quickInput.runCommand("Notifications: Clear All Notifications");
      await at.window.statusBar.click(quota);
      await at.window.quickInput.waitForTitle("Pipeline Runs");
      const rows = await at.window.quickInput.rows();
      assert.equal(rows[0], "Run Pipeline…");
      assert(rows.includes("Cancel Run…"));
      await at.window.quickInput.pick("Cancel My Runs");
      await at.window.notifications.toast(/^long: cancelled\.$/);
      await at.window.statusBar.click(quota);
      await at.window.quickInput.pick("What Counts as a Run?");
      await at.window.page.locator(".view-lines").getByText("What counts as a run?").waitFor();
    });
  });
}
