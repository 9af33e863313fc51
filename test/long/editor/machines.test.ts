import assert from "node:assert/strict";
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { certificate } from "../../certificate.ts";
import { LoopbackService, orgOnWire, sendJson, testKey } from "../../client/loopbackService.ts";
import { ConnectProxy } from "../../connectProxy.ts";
import { ownService } from "../../editor/screen/ownService.ts";
import { pointElsewhere } from "../../editor/screen/tooltip.ts";
import { TemporaryFolder } from "../../temporaryFolder.ts";

const quota = "pipeline-runs.pipeline-runs.quota";

describe("the editor on a machine with a proxy, certificates of its own, and workspaces to be trusted", () => {
  let service: LoopbackService;
  let proxy: ConnectProxy;
  const at = ownService({
    prepare: async (_, held) => {
      const authority = certificate({ host: "authority.test", isAuthority: true });
      service = held.use(
        await LoopbackService.listen(
          (asked, response) => {
            if (asked.path === "/api/org") sendJson(response, 200, orgOnWire);
            else response.writeHead(404).end();
          },
          certificate({ host: "service.test", issuer: authority }),
        ),
      );
      proxy = held.use(await ConnectProxy.listen(service.port));
      const certificates = held.use(await TemporaryFolder.make("pipeline-runs-certificates"));
      const authorities = join(certificates.path, "authority.pem");
      await writeFile(authorities, authority.cert);
      return {
        env: { SSL_CERT_FILE: authorities },
        settings: {
          // The system's certificates as OpenSSL finds them, so that this machine's own need not be changed.
          "http.systemCertificatesNode": true,
          "http.proxy": `http://${proxy.host}`,
          "security.workspace.trust.startupPrompt": "never",
        },
        trustsAll: false,
      };
    },
  });

  it("starts no service because of the files of a workspace that isn't trusted", async () => {
    assert(
      (await at.window.quickInput.commandsFor("Pipeline Runs:")).includes("Pipeline Runs: Run Pipeline…"),
    );
    assert.equal(await at.window.statusBar.item(quota).count(), 0);
    assert.deepEqual(await readdir(at.tool.data), []);
  });

  it("comes to life when the workspace is trusted, and reaches its own service past the proxy", async () => {
    await at.window.quickInput.runCommand("Workspaces: Manage Workspace Trust");
    await at.window.page
      .locator(".workspace-trust-editor")
      .getByRole("button", { name: "Trust", exact: true })
      .first()
      .click();
    await at.window.statusBar.waitForText(quota, /^0 of 50 runs used today$/);
    await at.window.quickInput.runCommand("Pipeline Runs: Run Pipeline…");
    await at.window.quickInput.pick("hello");
    await at.window.statusBar.waitForText(quota, /^1 of 50 runs used today$/);
    assert.deepEqual(proxy.asked, []);
  });

  it("sends what is for the cloud through the editor's proxy, and believes the system's certificates", async () => {
    await at.window.quickInput.runCommand("Pipeline Runs: Choose API Key…");
    await at.window.quickInput.pick("Add API Key…");
    await at.window.quickInput.waitForTitle("Add API Key");
    await at.window.quickInput.type("https://service.test");
    await at.window.quickInput.accept();
    await at.window.quickInput.waitForTitle("Set API Key");
    await at.window.quickInput.type(testKey);
    await at.window.quickInput.accept();
    await at.window.notifications.toast(/^The API key is set: Lamps, at https:\/\/service\.test\.$/);
    await at.window.statusBar.waitForText(quota, /^7 of 50 runs used today$/);
    assert(proxy.asked.length > 0);
    assert(proxy.asked.every((authority) => authority === "service.test:443"));
    // Its events were asked for, too, by the same way: there is no other.
    await service.until(() => service.asked.some(({ path }) => path === "/api/events"));
    assert(!proxy.seen.includes(testKey));
  });

  it("is chosen to use this machine's own service again, in this workspace, and tells the proxy nothing", async () => {
    const asked = proxy.asked.length;
    await at.window.quickInput.runCommand("Pipeline Runs: Choose API Key…");
    await at.window.quickInput.pick("This machine's own service");
    await at.window.statusBar.waitForText(quota, /^1 of 50 runs used today$/);
    await at.window.statusBar.pointAt(quota, "This machine's own service (chosen for this workspace)");
    await pointElsewhere(at.window.page);
    assert.equal(proxy.asked.length, asked);
  });
});
