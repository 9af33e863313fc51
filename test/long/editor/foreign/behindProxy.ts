import assert from "node:assert/strict";
import { testKey } from "../../../client/loopbackService.ts";
import { quota } from "../../../editor/screen/statusBar.ts";
import type { ForeignWindow } from "./foreignWindow.ts";

export function behindProxy(at: ForeignWindow): void {
  describe("a machine with a proxy and certificates of its own", () => {
    it("sends what is for the cloud through the editor's proxy, and believes the system's certificates", async () => {
      const { proxy, cloud } = at.around;
      assert.deepEqual(proxy.asked, [], "this machine's own service is reached past it");
      await at.window.quickInput.runCommand("Pipeline Runs: Choose API Key…");
      await at.window.quickInput.pick("Add API Key…");
      await at.window.quickInput.waitForTitle("Add API Key");
      await at.window.quickInput.type("https://service.test");
      await at.window.quickInput.accept();
      await at.window.enterApiKey(testKey);
      await at.window.notifications.toast(/^The API key is set: Lamps, at https:\/\/service\.test\.$/);
      await at.window.statusBar.waitForText(quota, /^7 of 50 runs used today$/);
      assert(proxy.asked.length > 0);
      assert(proxy.asked.every((authority) => authority === "service.test:443"));
      // Its events were asked for, too, by the same way: there is no other.
      await cloud.until(() => cloud.asked.some(({ path }) => path === "/api/events"));
      assert(!proxy.seen.includes(testKey));
    });

    it("is chosen to use this machine's own service again, in this workspace, and tells the proxy nothing", async () => {
      const { proxy } = at.around;
      const asked = proxy.asked.length;
      await at.window.quickInput.runCommand("Pipeline Runs: Choose API Key…");
      await at.window.quickInput.pick("This machine's own service");
      await at.window.statusBar.waitForUsed(1);
      assert.equal(proxy.asked.length, asked);
    });
  });
}
