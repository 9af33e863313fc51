import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { vsixFile } from "../../../scripts/editor/vsixFile.ts";
import { toolbox } from "../../cli/toolbox.ts";
import type { TemporaryFolder } from "../../temporaryFolder.ts";
import type { EditorWindow } from "./editorWindow.ts";
import { openWindow } from "./openWindow.ts";
import { traceFailures } from "./traceFailures.ts";
import { TreeView } from "./treeView.ts";
import { testWorkspace } from "./workspace.ts";

const quota = "pipeline-runs.pipeline-runs.quota";

/**
 * Runs in the page before anything of VS Code does: what a language pack says of itself. The workbench's own words stay
 * English, since there is no pack here; extensions are asked for theirs in this language.
 */
const inGerman = `Object.defineProperty(globalThis, "_VSCODE_NLS_LANGUAGE", { get: () => "de", set: () => {} })`;

/** Runs in the page: whether the walkthrough's picture has been loaded. */
const hasPicture = `[...document.querySelectorAll(".getting-started-media img")].some(({ naturalWidth }) => naturalWidth > 500)`;

describe("the editor, in German", function () {
  this.timeout(120_000);
  let window: EditorWindow;
  let workspace: TemporaryFolder;
  let tool: Awaited<ReturnType<typeof toolbox>>;
  traceFailures(() => window);

  before(async function () {
    this.timeout(300_000);
    workspace = await testWorkspace();
    tool = await toolbox();
    window = await openWindow({
      vsix: vsixFile,
      folder: workspace.path,
      env: { PIPELINE_DATA_DIR: tool.data },
    });
    await window.page.addInitScript(inGerman);
    await window.reload();
  });
  after(async () => {
    await window?.[Symbol.asyncDispose]();
    await tool?.[Symbol.asyncDispose]();
    await workspace?.[Symbol.asyncDispose]();
  });

  it("speaks German, and the numbers stay the service's", async () => {
    await window.statusBar.waitForText(quota, /^\s*0 of 50 runs used today\s*$/);
    await window.page.locator('.activitybar .action-label[aria-label^="Pipeline Runs"]').click();
    await new TreeView(window.page, "Läufe").waitForWelcome("Noch keine Läufe.");
    await window.quickInput.runCommand("Pipeline Runs: Pipeline ausführen…");
    await window.quickInput.waitForTitle("Pipeline ausführen");
    await window.quickInput.pick("fails");
    const toast = await window.notifications.toast(/^fails ist fehlgeschlagen: only: exited with 3/);
    assert.deepEqual((await toast.buttons()).slice(0, 2), ["Protokoll öffnen", "Erneut ausführen"]);
    await window.statusBar.waitForText(quota, /1 of 50 runs used today/);
  });

  it("walks a newcomer through it, with pictures", async () => {
    const { page, quickInput } = window;
    await quickInput.runCommand("Notifications: Clear All Notifications");
    await quickInput.runCommand("Welcome: Open Walkthrough...");
    await quickInput.pick("Erste Schritte mit Pipeline Runs");
    // A picture stands beside its step where there is room for it.
    await page.keyboard.press("Control+B");
    const steps = page.locator(".getting-started-step");
    await steps.filter({ hasText: "Eine Pipeline schreiben" }).waitFor();
    assert.equal(await steps.count(), 6);
    const picture = page.locator(".getting-started-media img");
    for (const title of ["Auf einen Platz warten", "Wenn der Tag verbraucht ist", "Ausführen"]) {
      await steps.locator(".step-title").getByText(title, { exact: true }).click();
      await picture.waitFor();
      while (!(await page.evaluate<boolean>(hasPicture))) await pause(100);
    }
    const running = steps.filter({ hasText: "von der Befehlspalette aus" });
    await running.getByRole("button", { name: "Pipeline ausführen…" }).click();
    await quickInput.waitForTitle("Pipeline ausführen");
    await quickInput.dismiss();
    await running.locator(".codicon-getting-started-step-checked").waitFor();
  });
});
