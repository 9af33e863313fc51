import assert from "node:assert/strict";
import { ownService } from "./ownService.ts";
import { shownText } from "./shownText.ts";

const quota = "pipeline-runs.pipeline-runs.quota";

describe("the status bar of the editor", () => {
  const at = ownService();

  const used = (count: number) =>
    at.window.statusBar.waitForText(quota, new RegExp(`^\\s*${count} of 50 runs used today\\s*$`));

  it("tells org, tier, the day's use, the reset, the places and how fresh that is when pointed at", async () => {
    await used(0);
    const text = await shownText(await at.window.statusBar.pointAt(quota, "0 of 50 runs used today"));
    assert.match(text, /This machine · tier free/);
    assert.match(text, /─{20} 0 of 50 runs used today/);
    assert.match(text, /The count starts again at 00:00 UTC \(.+ your time\), in (\d+ h )?\d+ min\./);
    assert.match(text, /0 of 1 places in use/);
    assert.match(text, /Live: the service tells of every change/);
    assert.match(text, /This machine's own service/);
    assert.doesNotMatch(text, /Cancel My Runs/);
  });

  it("starts a run by a link of the tooltip, and names it there while it is in work", async () => {
    const hover = await at.window.statusBar.pointAt(quota, "Run Pipeline…");
    await hover.getByRole("link", { name: "Run Pipeline…" }).click();
    await at.window.quickInput.pick("long");
    await used(1);
    await at.window.statusBar.pointElsewhere();
    await at.window.statusBar.pointAt(quota, "1 of 1 places in use: long (yours)");
    await at.window.statusBar.pointElsewhere();
  });

  it("opens a menu by a click, with what is sensible now, and its entries do what they say", async () => {
    await at.window.statusBar.click(quota);
    await at.window.quickInput.waitForTitle("Pipeline Runs");
    const rows = await at.window.quickInput.rows();
    assert.equal(rows[0], "Run Pipeline…");
    assert(rows.includes("Cancel Run…"));
    await at.window.quickInput.pick("Cancel My Runs");
    await at.window.notifications.toast(/^long: cancelled\.$/);
    await used(1);
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
    assert.match(await at.window.statusBar.label(quota), /^Pipeline Runs: 1 of 50 runs used today/);
  });
});
