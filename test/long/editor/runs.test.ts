import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { ownService } from "../../editor/screen/ownService.ts";
import { shownText } from "../../editor/screen/shownText.ts";
import { pointElsewhere } from "../../editor/screen/tooltip.ts";
import { standsStill } from "../../editor/screen/waitFor.ts";
import { isAlive } from "../../isAlive.ts";
import { fillDay } from "../../service/fillDay.ts";

const quota = "pipeline-runs.pipeline-runs.quota";
const run = "Pipeline Runs: Run Pipeline…";
const cancel = "Pipeline Runs: Cancel Run…";
const cancelMine = "Pipeline Runs: Cancel My Runs";

describe("the editor, with this machine's own service", () => {
  const at = ownService();

  /** Waits until the status bar reads exactly this; an icon before it reads as nothing. */
  const status = (text: string) => at.window.statusBar.waitForText(quota, exactly(text));
  const used = (count: number) => status(`${count} of 50 runs used today`);
  const start = async (pipeline: string) => {
    await at.window.quickInput.runCommand(run);
    await at.window.quickInput.pick(pipeline);
  };
  const pid = async () => {
    for (;;) {
      const written = Number(await readFile(join(at.workspace, "pid"), "utf8").catch(() => ""));
      if (isAlive(written)) return written;
      await pause(20);
    }
  };

  it("shows the day's quota as soon as a window with pipelines opens", async () => {
    await used(0);
  });

  it("tells org, tier, the day's use, the reset, the slots and how fresh that is when pointed at", async () => {
    const text = await shownText(await at.window.statusBar.pointAt(quota, "0 of 50 runs used today"));
    assert.match(text, /This machine · tier free/);
    assert.match(text, /─{20} 0 of 50 runs used today/);
    assert.match(
      text,
      /The count starts again at 00:00 UTC( \(.+ your time\))?, in (\d+ h( \d+ min)?|\d+ min( \d+ s)?|\d+ s)\./,
    );
    assert.match(text, /0 of 1 slots in use/);
    assert.match(text, /Live updates/);
    assert.match(text, /This machine's own service/);
    assert.doesNotMatch(text, /Cancel My Runs/);
  });

  it("runs a pipeline from the command palette, and the status bar moves", async () => {
    await start("hello");
    await at.window.statusBar.waitForMessage(/hello succeeded in [\d.]+ m?s/);
    await used(1);
    assert.deepEqual(await at.window.notifications.toasts(), [], "a success asks for no attention");
  });

  it("says why a run failed", async () => {
    await start("fails");
    const toast = await at.window.notifications.toast(
      /^fails failed: only: exited with 3, expected 0: it is broken$/,
    );
    assert.deepEqual(await toast.buttons(), ["Open Log", "Run Again", "Don't Show Again"]);
    await used(2);
  });

  it("tells who used the day's runs when pointed at", async () => {
    const text = await shownText(await at.window.statusBar.pointAt(quota, "Used by"));
    assert.match(text, /Used by (hello 1, fails 1|fails 1, hello 1); started by you 2/);
    await pointElsewhere(at.window.page);
  });

  it("offers the pipeline that was run last first, and a name can be typed", async () => {
    await at.window.quickInput.runCommand(run);
    await at.window.quickInput.waitForRow("fails");
    const names = (await at.window.quickInput.rows()).filter((row) => !row.startsWith("pipelines/"));
    assert.deepEqual(names.slice(0, 2), ["fails", "hello"]);
    await at.window.quickInput.type("helo");
    await at.window.quickInput.pick("Run “helo”");
    await at.window.notifications.toast(/no pipeline `helo`.*Did you mean `hello`\?/);
  });

  it("tells file, line and column of a broken pipeline file, and opens it there", async () => {
    await at.window.quickInput.runCommand(run);
    await at.window.quickInput.type("broken");
    await at.window.page.locator(".quick-input-list .monaco-list-row", { hasText: "broken" }).first().click();
    const toast = await at.window.notifications.toast(/pipelines\/broken\.yaml:2:\d+: /);
    await toast.press("Open File");
    await at.window.page.locator('.tab[aria-label*="broken.yaml"]').waitFor();
    await used(2);
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
    await used(3);
  });

  it("waits for the slot with the seconds left and who holds it; Stop Waiting leaves the queue and uses no run", async () => {
    await start("long");
    await used(4);
    await start("hello");
    const toast = await at.window.notifications.toast(
      /hello is waiting for long \(your run\) to finish; gives up in 1\d\d s/,
    );
    await at.window.statusBar.waitForText(quota, /4 of 50 runs used today · waiting; gives up in 1\d\d s$/);
    await start("hello");
    const twice = await at.window.notifications.toast(
      /^hello is already waiting for a slot; gives up in 1\d\d s\.$/,
    );
    assert.deepEqual(await twice.buttons(), ["Wait Twice"]);
    const other = at.tool.spawn(["run", "hello"], {}, at.workspace);
    await at.window.notifications.toast(
      /hello is waiting for long \(your run\) to finish; gives up in \d+ s · 1st of 2 in the queue$/,
    );
    await at.window.statusBar.waitForText(quota, /waiting, 1st of 2; gives up in \d+ s$/);
    await at.window.statusBar.pointAt(quota, "hello: 1st of 2 in the queue");
    await pointElsewhere(at.window.page);
    other.kill("SIGINT");
    assert.equal((await other).exitCode, 130);
    await at.window.statusBar.waitForText(quota, /waiting; gives up in \d+ s$/);
    await at.window.quickInput.runCommand("Pipeline Runs: Stop Waiting");
    await toast.waitUntilGone();
    await used(4);
  });

  it("starts the waiting run the moment the slot is released by Cancel Run", async () => {
    const holder = await pid();
    await start("hello");
    await at.window.notifications.toast(/^hello is waiting for long /);
    await at.window.quickInput.runCommand(cancel);
    // The only active run, and one's own: nothing is asked.
    await at.window.notifications.toast(/^long: cancelled\.$/);
    assert(!isAlive(holder));
    await at.window.statusBar.waitForMessage(/hello succeeded/);
    await used(5);
  });

  it("ends every run of one's own with Cancel My Runs, and says so when there is none", async () => {
    await at.window.quickInput.runCommand("Notifications: Clear All Notifications");
    await start("long");
    await used(6);
    const holder = await pid();
    await at.window.quickInput.runCommand(cancelMine);
    await at.window.notifications.toast(/^long: cancelled\.$/);
    assert(!isAlive(holder));
    await at.window.quickInput.runCommand(cancelMine);
    await at.window.notifications.toast(/^You have no runs in progress\.$/);
  });

  it("starts a run by a link of the tooltip, and names it there while it is active", async () => {
    const hover = await at.window.statusBar.pointAt(quota, "Run Pipeline…");
    await hover.getByRole("link", { name: "Run Pipeline…" }).click();
    await at.window.quickInput.pick("long");
    await used(7);
    await pointElsewhere(at.window.page);
    await at.window.statusBar.pointAt(quota, "1 of 1 slots in use: long (yours)");
    await pointElsewhere(at.window.page);
  });

  it("opens a menu by a click, with what is sensible now, and its entries do what they say", async () => {
    await at.window.quickInput.runCommand("Notifications: Clear All Notifications");
    await at.window.statusBar.click(quota);
    await at.window.quickInput.waitForTitle("Pipeline Runs");
    const rows = await at.window.quickInput.rows();
    assert.equal(rows[0], "Run Pipeline…");
    assert(rows.includes("Cancel Run…"));
    await at.window.quickInput.pick("Cancel My Runs");
    await at.window.notifications.toast(/^long: cancelled\.$/);
    await used(7);
  });

  it("opens the same menu from the palette, where nothing is to be cancelled any more", async () => {
    await at.window.quickInput.runCommand("Pipeline Runs: Show Menu…");
    await at.window.quickInput.waitForTitle("Pipeline Runs");
    const rows = await at.window.quickInput.rows();
    assert(rows.includes("Choose API Key…") && rows.includes("Show Log"));
    assert(!rows.includes("Cancel My Runs"));
    await at.window.quickInput.dismiss();
  });

  it("is a button for a screen reader, which says the words of the screen", async () => {
    assert.match(await at.window.statusBar.label(quota), /^Pipeline Runs: 7 of 50 runs used today/);
  });

  it("moves when the terminal starts a run", async () => {
    const { exitCode } = await at.tool.spawn(["run", "hello"], {}, at.workspace);
    assert.equal(exitCode, 0);
    await used(8);
  });

  it("announces a failure of one's own key that a terminal has started, until that isn't wanted any more", async () => {
    await at.tool.spawn(["run", "fails"], {}, at.workspace);
    const toast = await at.window.notifications.toast(/^fails failed: /);
    await toast.press("Don't Show Again");
    await at.window.notifications.toast(/^Runs that end like this are no longer announced\./);
    await used(9);
  });

  it("shows a used-up day as one notification with its hint, the local time and Retry, and uses no run", async () => {
    await fillDay(at.tool.data, 41);
    await start("hello");
    const refusal =
      /^hello was not started: today's 50 runs are used up\. The count starts again at 00:00 UTC( \(.+ your time\))?, in .+\. Hint: pipeline run hello, in .+\.$/;
    const toast = await at.window.notifications.toast(refusal);
    assert.deepEqual(await toast.buttons(), ["Retry", "Retry at 00:00 UTC", "What Counts as a Run?"]);
    await used(50);
    await toast.answer("Retry");
    await at.window.notifications.toast(refusal);
    assert.equal(
      (await at.window.notifications.toasts()).filter((text) => text.startsWith("hello was not")).length,
      1,
    );
    const { exitCode, stdout } = await at.tool.spawn(["run", "hello"], {}, at.workspace);
    assert.equal(exitCode, 5);
    assert.equal(JSON.parse(String(stdout)).error.type, "too-many-runs");
    await used(50);
  });
});

function exactly(text: string): RegExp {
  return new RegExp(`^\\s*${text}\\s*$`);
}
