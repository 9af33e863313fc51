import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { vsixFile } from "../../../scripts/editor/vsixFile.ts";
import { toolbox } from "../../cli/toolbox.ts";
import { isAlive } from "../../isAlive.ts";
import { fillDay } from "../../service/fillDay.ts";
import type { TemporaryFolder } from "../../temporaryFolder.ts";
import type { EditorWindow } from "./editorWindow.ts";
import { openWindow } from "./openWindow.ts";
import { traceFailures } from "./traceFailures.ts";
import { testWorkspace } from "./workspace.ts";

const quota = "pipeline-runs.pipeline-runs.quota";
const run = "Pipeline Runs: Run Pipeline…";
const cancel = "Pipeline Runs: Cancel Run…";
const cancelMine = "Pipeline Runs: Cancel My Runs";

describe("the editor, with this machine's own service", function () {
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
  });
  after(async () => {
    await window?.[Symbol.asyncDispose]();
    await tool?.[Symbol.asyncDispose]();
    await workspace?.[Symbol.asyncDispose]();
  });

  /** Waits until the status bar reads exactly this; an icon before it reads as nothing. */
  const status = (text: string) => window.statusBar.waitForText(quota, exactly(text));
  const used = (count: number) => status(`${count} of 50 runs used today`);
  const start = async (pipeline: string) => {
    await window.quickInput.runCommand(run);
    await window.quickInput.pick(pipeline);
  };
  const pid = async () => {
    for (;;) {
      const written = Number(await readFile(join(workspace.path, "pid"), "utf8").catch(() => ""));
      if (isAlive(written)) return written;
    }
  };

  it("shows the day's quota as soon as a window with pipelines opens", async () => {
    await used(0);
  });

  it("runs a pipeline from the command palette, and the status bar moves", async () => {
    await start("hello");
    await window.statusBar.waitForMessage(/hello succeeded in [\d.]+ s/);
    await used(1);
    assert.deepEqual(await window.notifications.toasts(), [], "a success asks for no attention");
  });

  it("says why a run failed", async () => {
    await start("fails");
    const toast = await window.notifications.toast(
      /^fails failed: only: exited with 3, expected 0: it is broken$/,
    );
    assert.deepEqual(await toast.buttons(), ["Open Log", "Run Again", "Don't Show Again"]);
    await used(2);
  });

  it("offers the pipeline that was run last first, and a name can be typed", async () => {
    await window.quickInput.runCommand(run);
    await window.quickInput.waitForRow("fails");
    const names = (await window.quickInput.rows()).filter((row) => !row.startsWith("pipelines/"));
    assert.deepEqual(names.slice(0, 2), ["fails", "hello"]);
    await window.quickInput.type("helo");
    await window.quickInput.pick("Run “helo”");
    await window.notifications.toast(/no pipeline `helo`.*Did you mean `hello`\?/);
  });

  it("tells file, line and column of a broken pipeline file, and opens it there", async () => {
    await window.quickInput.runCommand(run);
    await window.quickInput.type("broken");
    await window.page.locator(".quick-input-list .monaco-list-row", { hasText: "broken" }).first().click();
    const toast = await window.notifications.toast(/pipelines\/broken\.yaml:2:\d+: /);
    await toast.press("Open File");
    await window.page.locator('.tab[aria-label*="broken.yaml"]').waitFor();
    await used(2);
  });

  it("runs the file that is open, from its editor's title", async () => {
    await window.page.keyboard.press("Control+p");
    await window.quickInput.type("hello.yaml");
    await window.quickInput.pick("hello.yaml");
    await window.page.locator('.tab.active[aria-label*="hello.yaml"]').waitFor();
    await window.page.locator('.editor-actions a[aria-label^="Run This Pipeline"]').click();
    await window.statusBar.waitForMessage(/hello succeeded/);
    await used(3);
  });

  it("waits for the place with the seconds left and who holds it; Stop Waiting gives up the turn and uses no run", async () => {
    await start("long");
    await used(4);
    await start("hello");
    const toast = await window.notifications.toast(
      /Waiting for a place to run hello: 1\d\d s left; place held by long \(your run\)/,
    );
    await window.statusBar.waitForText(quota, /4 of 50 runs used today · waiting, 1\d\d s left$/);
    await start("hello");
    const twice = await window.notifications.toast(/^hello is waiting for a place already, 1\d\d s left\.$/);
    assert.deepEqual(await twice.buttons(), ["Wait Twice"]);
    await window.quickInput.runCommand("Pipeline Runs: Stop Waiting");
    await toast.waitUntilGone();
    await used(4);
  });

  it("starts the waiting run the moment the place is given up by Cancel Run", async () => {
    const holder = await pid();
    await start("hello");
    await window.notifications.toast(/Waiting for a place to run hello/);
    await window.quickInput.runCommand(cancel);
    await window.quickInput.pick("long");
    await window.notifications.toast(/^long: cancelled\.$/);
    assert(!isAlive(holder));
    await window.statusBar.waitForMessage(/hello succeeded/);
    await used(5);
  });

  it("ends every run of one's own with Cancel My Runs, and says so when there is none", async () => {
    await window.quickInput.runCommand("Notifications: Clear All Notifications");
    await start("long");
    await used(6);
    const holder = await pid();
    await window.quickInput.runCommand(cancelMine);
    await window.notifications.toast(/^long: cancelled\.$/);
    assert(!isAlive(holder));
    await window.quickInput.runCommand(cancelMine);
    await window.notifications.toast(/^No run in work was started by your key\.$/);
  });

  it("moves when the terminal starts a run", async () => {
    const { exitCode } = await tool.spawn(["run", "hello"], {}, workspace.path);
    assert.equal(exitCode, 0);
    await used(7);
  });

  it("announces a failure of one's own key that a terminal has started, until that isn't wanted any more", async () => {
    await tool.spawn(["run", "fails"], {}, workspace.path);
    const toast = await window.notifications.toast(/^fails failed: /);
    await toast.press("Don't Show Again");
    await window.notifications.toast(/^Ends like this one are no longer announced\./);
    await used(8);
  });

  it("shows a used-up day as one notification with its hint, the local time and Retry, and uses no run", async () => {
    await fillDay(tool.data, 42);
    await start("hello");
    const refusal =
      /^hello was not started: too-many-runs\. Scope free-day: .*00:00 UTC, in \d+ s\. That is .* your time\. Hint: pipeline run hello \(retry after \d+ s\)\.$/;
    const toast = await window.notifications.toast(refusal);
    assert.deepEqual(await toast.buttons(), ["Retry", "Retry at 00:00 UTC"]);
    await used(50);
    await toast.answer("Retry");
    await window.notifications.toast(refusal);
    assert.equal(
      (await window.notifications.toasts()).filter((text) => text.startsWith("hello was not")).length,
      1,
    );
    const { exitCode, stdout } = await tool.spawn(["run", "hello"], {}, workspace.path);
    assert.equal(exitCode, 5);
    assert.equal(JSON.parse(String(stdout)).error.type, "too-many-runs");
    await used(50);
  });
});

function exactly(text: string): RegExp {
  return new RegExp(`^\\s*${text}\\s*$`);
}
