import assert from "node:assert/strict";
import type { CDPSession, Page } from "playwright-core";
import { LoopbackService, orgOnWire, sendError, sendJson, testKey } from "../../client/loopbackService.ts";
import type { EditorWindow } from "../../editor/screen/editorWindow.ts";
import { screen } from "../../editor/screen/screen.ts";
import { shownText } from "../../editor/screen/shownText.ts";
import { pointElsewhere } from "../../editor/screen/tooltip.ts";
import { TemporaryFolder } from "../../temporaryFolder.ts";

const quota = "pipeline-runs.pipeline-runs.quota";

describe("two windows of the editor, with a service that has only the given endpoints", () => {
  let second: EditorWindow;
  let folder: string;
  let service: LoopbackService;
  let used = 120;
  let accepts = true;
  let isUp = true;
  const at = screen(async (held) => {
    folder = held.use(await TemporaryFolder.make("pipeline-runs-workspace")).path;
    service = held.use(
      await LoopbackService.listen((asked, response) => {
        if (!isUp) sendJson(response, 503, {}, { "retry-after": "1" });
        else if (!accepts) sendError(response, 401, "unauthorized");
        else if (asked.path !== "/api/org") response.writeHead(404).end();
        else
          sendJson(response, 200, {
            ...orgOnWire,
            tier: "team",
            limits: { "parallel-runs": 4, "runs-per-day": 1000 },
            usage: { "runs-today": used },
          });
      }),
    );
    return { settings: { "pipelineRuns.baseUrl": service.origin } };
  });

  /** Gives one of the windows the focus, or none. A browser under test has a page believe that it has it when told so. */
  const lookAt = async (looked: EditorWindow | undefined) => {
    for (const window of [at.window, second]) {
      const isLookedAt = window === looked;
      const { page } = window;
      const browser = browsers.get(page) ?? (await page.context().newCDPSession(page));
      browsers.set(page, browser);
      await browser.send("Emulation.setFocusEmulationEnabled", { enabled: isLookedAt });
      // A page in the background draws nothing, so it is not asked when it draws.
      await page.waitForFunction(`document.hasFocus() === ${isLookedAt}`, undefined, { polling: 100 });
    }
  };
  const browsers = new Map<Page, CDPSession>();
  const asks = () => service.asked.filter(({ path }) => path === "/api/org").length;

  it("are right on another tier, and say how old a number is that had to be asked for", async () => {
    await at.window.setApiKey(testKey);
    await at.window.statusBar.waitForText(quota, /^120 of 1000 runs used today$/);
    const text = await shownText(await at.window.statusBar.pointAt(quota, "tier team"));
    await pointElsewhere(at.window.page);
    assert.match(text, /As of .+; refreshed from time to time/);
    assert.doesNotMatch(text, /slots/);
  });

  it("ask only while they are looked at, and at once when somebody comes back to them", async () => {
    second = await at.window.openAnother(folder);
    await second.statusBar.waitForText(quota, /^120 of 1000 runs used today$/);
    // The page in front has the focus whatever it is told.
    await (await second.page.context().newPage()).bringToFront();
    await lookAt(undefined);
    used = 121;
    const before = asks();
    await lookAt(second);
    await second.statusBar.waitForText(quota, /^121 of 1000 runs used today$/);
    assert.equal(await at.window.statusBar.text(quota), "120 of 1000 runs used today");
    assert.equal(asks(), before + 1);
    await lookAt(at.window);
    await at.window.statusBar.waitForText(quota, /^121 of 1000 runs used today$/);
    assert.equal(asks(), before + 2);
  });

  it("both say that they don't know once the service is out of reach", async () => {
    isUp = false;
    for (const window of [second, at.window]) {
      await lookAt(window);
      await window.statusBar.waitForText(quota, /service can't be reached$/);
    }
  });

  it("tell of a revoked key once, in one of them", async () => {
    accepts = false;
    isUp = true;
    for (const window of [at.window, second]) {
      await lookAt(window);
      await window.statusBar.waitForText(quota, /API key not accepted$/);
    }
    const texts = [...(await at.window.notifications.centre()), ...(await second.notifications.centre())];
    assert.equal(
      texts.filter((text) => text.includes("no longer accepts the API key of Lamps")).length,
      1,
      texts.join(),
    );
  });

  it("are right again as soon as the key is accepted and each is told to look", async () => {
    accepts = true;
    used = 122;
    for (const window of [at.window, second]) {
      await window.quickInput.runCommand("Pipeline Runs: Refresh Runs");
      await window.statusBar.waitForText(quota, /^122 of 1000 runs used today$/);
    }
  });
});
