import assert from "node:assert/strict";
import type { CDPSession, Page } from "playwright-core";
import { LoopbackService, orgOnWire, sendError, sendJson, testKey } from "../../../client/loopbackService.ts";
import type { EditorWindow } from "../../../editor/screen/editorWindow.ts";
import { quota } from "../../../editor/screen/statusBar.ts";
import type { ForeignWindow } from "./foreignWindow.ts";

export function windows(at: ForeignWindow): void {
  describe("two windows of one editor", () => {
    let second: EditorWindow;
    let service: LoopbackService;
    let used = 120;
    let accepts = true;
    before(async function () {
      this.timeout(120_000);
      service = await LoopbackService.listen((asked, response) => {
        if (!accepts) sendError(response, 401, "unauthorized");
        else if (asked.path !== "/api/org") response.writeHead(404).end();
        else
          sendJson(response, 200, {
            ...orgOnWire,
            tier: "team",
            limits: { "parallel-runs": 4, "runs-per-day": 1000 },
            usage: { "runs-today": used },
          });
      });
      await at.window.writeSettings({ "pipelineRuns.baseUrl": service.origin });
      await at.window.setApiKey(testKey);
      await at.window.statusBar.waitForText(quota, /^120 of 1000 runs used today$/);
      second = await at.window.openAnother();
    });
    after(async () => {
      await second.page.close();
      await giveFocus(at.window.page, true);
      // The notification centre keeps toasts away.
      await at.window.settle();
      await service[Symbol.asyncDispose]();
    });

    /** Gives one of the windows the focus, or none. A browser under test has a page believe that it has it when told so. */
    const lookAt = async (looked: EditorWindow | undefined) => {
      for (const window of [at.window, second]) {
        await giveFocus(window.page, window === looked);
      }
    };
    const giveFocus = async (page: Page, enabled: boolean) => {
      const browser = browsers.get(page) ?? (await page.context().newCDPSession(page));
      browsers.set(page, browser);
      await browser.send("Emulation.setFocusEmulationEnabled", { enabled });
      // A page in the background draws nothing, so it is not asked when it draws.
      await page.waitForFunction(`document.hasFocus() === ${enabled}`, undefined, { polling: 100 });
    };
    const browsers = new Map<Page, CDPSession>();
    const asks = () => service.asked.filter(({ path }) => path === "/api/org").length;

    it("ask only while they are looked at, and at once when somebody comes back to them", async () => {
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

    it("tell of a revoked key once, in one of them", async () => {
      accepts = false;
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
  });
}
