import assert from "node:assert/strict";
import { vsixFile } from "../../../scripts/editor/vsixFile.ts";
import { toolbox } from "../../cli/toolbox.ts";
import type { TemporaryFolder } from "../../temporaryFolder.ts";
import type { EditorWindow } from "./editorWindow.ts";
import { openWindow } from "./openWindow.ts";
import { shownText } from "./shownText.ts";
import { traceFailures } from "./traceFailures.ts";
import { testWorkspace } from "./workspace.ts";

const quota = "pipeline-runs.pipeline-runs.quota";

describe("the status bar of the editor", function () {
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

  const used = (count: number) =>
    window.statusBar.waitForText(quota, new RegExp(`^\\s*${count} of 50 runs used today\\s*$`));

  it("tells org, tier, the day's use, the reset, the places and how fresh that is when pointed at", async () => {
    await used(0);
    const text = await shownText(await window.statusBar.pointAt(quota, "0 of 50 runs used today"));
    assert.match(text, /This machine · tier free/);
    assert.match(text, /─{20} 0 of 50 runs used today/);
    assert.match(text, /The count starts again at 00:00 UTC \(.+ your time\), in (\d+ h )?\d+ min\./);
    assert.match(text, /0 of 1 places in use/);
    assert.match(text, /Live: the service tells of every change/);
    assert.match(text, /This machine's own service/);
    assert.doesNotMatch(text, /Cancel My Runs/);
  });

  it("starts a run by a link of the tooltip, and names it there while it is in work", async () => {
    const hover = await window.statusBar.pointAt(quota, "Run Pipeline…");
    await hover.getByRole("link", { name: "Run Pipeline…" }).click();
    await window.quickInput.pick("long");
    await used(1);
    await window.statusBar.pointElsewhere();
    await window.statusBar.pointAt(quota, "1 of 1 places in use: long (yours)");
    await window.statusBar.pointElsewhere();
  });

  it("opens a menu by a click, with what is sensible now, and its entries do what they say", async () => {
    await window.statusBar.click(quota);
    await window.quickInput.waitForTitle("Pipeline Runs");
    const rows = await window.quickInput.rows();
    assert.equal(rows[0], "Run Pipeline…");
    assert(rows.includes("Cancel Run…"));
    await window.quickInput.pick("Cancel My Runs");
    await window.notifications.toast(/^long: cancelled\.$/);
    await used(1);
  });

  it("opens the same menu from the palette, where nothing is to be cancelled any more", async () => {
    await window.quickInput.runCommand("Pipeline Runs: Show Menu…");
    await window.quickInput.waitForTitle("Pipeline Runs");
    const rows = await window.quickInput.rows();
    assert(rows.includes("Choose API Key…") && rows.includes("Show Log"));
    assert(!rows.includes("Cancel My Runs"));
    await window.quickInput.dismiss();
  });

  it("is a button for a screen reader, which says the words of the screen", async () => {
    assert.match(await window.statusBar.label(quota), /^Pipeline Runs: 1 of 50 runs used today/);
  });
});
