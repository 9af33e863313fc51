import assert from "node:assert/strict";
import { started, startedService } from "../service/startedService.ts";
import { inBrowser } from "./inBrowser.ts";
import { noBarriers } from "./noBarriers.ts";
import { stage } from "./stage.ts";

describe("the look of the page", () => {
  const open = inBrowser();

  noBarriers(open, true);

  it("shows by more than colour how a run stands, also where the system takes all colours", async () => {
    await using service = await startedService();
    const { secret } = await stage(service, open);
    await using screen = await open();
    await screen.page.emulateMedia({ forcedColors: "active" });
    await screen.signIn(service.url, secret);
    await screen.keepPicture("runs-forced-colours");
    const rows = screen.page.locator("tbody tr");
    const looks = new Map<string, string>();
    for (const row of await rows.all()) {
      const word = (await row.locator(".status").textContent()) ?? "";
      looks.set(word, (await row.locator(".status svg").innerHTML()).trim());
    }
    assert.deepEqual([...looks.keys()].sort(), ["Cancelled", "Failed", "Lost", "Succeeded", "Timed out"]);
    assert.equal(new Set(looks.values()).size, looks.size);
  });

  it("can be worked by keyboard from the first press, and shows where it is", async () => {
    await using service = await startedService();
    const { secret, client } = await stage(service, open);
    await started(client, "checkout");
    await using screen = await open();
    const { page } = screen;
    await screen.signIn(service.url, secret);
    await page.keyboard.press("Tab");
    assert.equal(await screen.focused(), "Skip to the content");
    await page.keyboard.press("Enter");
    assert.equal(await page.evaluate("document.activeElement.id"), "main");
    const passed: string[] = [];
    for (let tabs = 0; tabs < 8; tabs++) {
      await page.keyboard.press("Tab");
      passed.push((await screen.focused()).split("\n")[0] ?? "");
      const outline = await page.evaluate("getComputedStyle(document.activeElement).outlineStyle");
      assert.equal(outline, "solid", passed.at(-1));
    }
    assert.match(
      passed.join(", "),
      /^Cancel Mine \(1\).*, checkout, Cancel.*, Any, INPUT, INPUT, Filter, checkout$/,
    );
  });
});
