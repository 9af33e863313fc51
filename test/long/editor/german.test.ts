import assert from "node:assert/strict";
import { ownService } from "../../editor/screen/ownService.ts";
import { quota } from "../../editor/screen/statusBar.ts";
import { TreeView } from "../../editor/screen/treeView.ts";
import { until } from "../../until.ts";

/**
 * Runs in the page before anything of VS Code does: what a language pack says of itself. The workbench's own words stay
 * English, since there is no pack here; extensions are asked for theirs in this language.
 */
const inGerman = `Object.defineProperty(globalThis, "_VSCODE_NLS_LANGUAGE", { get: () => "de", set: () => {} })`;

/** Runs in the page: what is drawn as the icon of the views that are open. */
const drawnIcon = `getComputedStyle(document.querySelector('.activitybar .checked .action-label')).maskImage`;

/** Runs in the page: whether the walkthrough's picture has been loaded. */
const hasPicture = `[...document.querySelectorAll(".getting-started-media img")].some(({ naturalWidth }) => naturalWidth > 500)`;

describe("the editor, in German", () => {
  const at = ownService(async () => ({ script: inGerman }));

  it("speaks German behind an icon of its own, and the numbers stay the service's", async () => {
    await at.window.statusBar.waitForText(quota, /^\s*0 of 50 runs used today\s*$/);
    await at.window.page.locator('.activitybar .action-label[aria-label^="Pipelines"]').click();
    const runs = new TreeView(at.window.page, "Läufe");
    await runs.waitForWelcome("Noch keine Läufe.");
    assert.deepEqual(await runs.welcomeButtons(), ["Pipeline ausführen…"]);
    assert.match(await at.window.page.evaluate<string>(drawnIcon), /activity\.svg/);
    await at.window.quickInput.runCommand("Pipeline Runs: Pipeline ausführen…");
    await at.window.quickInput.waitForTitle("Pipeline ausführen");
    await at.window.quickInput.pick("fails");
    const toast = await at.window.notifications.toast(/^fails ist fehlgeschlagen: only: exited with 3/);
    assert.deepEqual((await toast.buttons()).slice(0, 2), ["Protokoll öffnen", "Erneut ausführen"]);
    await at.window.statusBar.waitForText(quota, /1 of 50 runs used today/);
  });

  it("walks a newcomer through it, with pictures", async () => {
    const { page, quickInput } = at.window;
    await quickInput.runCommand("Notifications: Clear All Notifications");
    await quickInput.runCommand("Welcome: Open Walkthrough...");
    await quickInput.pick("Erste Schritte mit Pipeline Runs");
    // A picture stands beside its step where there is room for it.
    await page.keyboard.press("Control+B");
    const steps = page.locator(".getting-started-step");
    await steps.filter({ hasText: "Eine Pipeline schreiben" }).waitFor();
    assert.equal(await steps.count(), 6);
    const picture = page.locator(".getting-started-media img");
    for (const title of ["In der Warteschlange warten", "Wenn der Tag verbraucht ist", "Ausführen"]) {
      await steps.locator(".step-title").getByText(title, { exact: true }).click();
      await picture.waitFor();
      await until(() => page.evaluate<boolean>(hasPicture));
    }
    const running = steps.filter({ hasText: "von der Befehlspalette aus" });
    await running.getByRole("button", { name: "Pipeline ausführen…" }).click();
    await quickInput.waitForTitle("Pipeline ausführen");
    await quickInput.dismiss();
    await running.locator(".codicon-getting-started-step-checked").waitFor();
  });
});
