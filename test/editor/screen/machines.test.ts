import assert from "node:assert/strict";
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { vsixFile } from "../../../scripts/editor/vsixFile.ts";
import { certificate } from "../../certificate.ts";
import { toolbox } from "../../cli/toolbox.ts";
import { LoopbackService, orgOnWire, sendJson, testKey } from "../../client/loopbackService.ts";
import { ConnectProxy } from "../../connectProxy.ts";
import { TemporaryFolder } from "../../temporaryFolder.ts";
import type { EditorWindow } from "./editorWindow.ts";
import { openWindow } from "./openWindow.ts";
import { traceFailures } from "./traceFailures.ts";
import { testWorkspace } from "./workspace.ts";

const quota = "pipeline-runs.pipeline-runs.quota";

describe("the editor on a machine with a proxy, certificates of its own, and workspaces to be trusted", function () {
  this.timeout(120_000);
  let window: EditorWindow;
  let workspace: TemporaryFolder;
  let certificates: TemporaryFolder;
  let tool: Awaited<ReturnType<typeof toolbox>>;
  let service: LoopbackService;
  let proxy: ConnectProxy;
  traceFailures(() => window);

  before(async function () {
    this.timeout(300_000);
    const authority = certificate({ host: "authority.test", isAuthority: true });
    service = await LoopbackService.listen(
      (asked, response) => {
        if (asked.path === "/api/org") sendJson(response, 200, orgOnWire);
        else response.writeHead(404).end();
      },
      certificate({ host: "service.test", issuer: authority }),
    );
    proxy = await ConnectProxy.listen(service.port);
    certificates = await TemporaryFolder.make("pipeline-runs-certificates");
    const authorities = join(certificates.path, "authority.pem");
    await writeFile(authorities, authority.cert);
    workspace = await testWorkspace();
    tool = await toolbox();
    window = await openWindow({
      vsix: vsixFile,
      folder: workspace.path,
      env: { PIPELINE_DATA_DIR: tool.data, SSL_CERT_FILE: authorities },
      settings: {
        // The system's certificates as OpenSSL finds them, so that this machine's own need not be changed.
        "http.systemCertificatesNode": true,
        "http.proxy": `http://${proxy.host}`,
        "security.workspace.trust.startupPrompt": "never",
      },
      trustsAll: false,
    });
  });
  after(async () => {
    await window?.[Symbol.asyncDispose]();
    await proxy?.[Symbol.asyncDispose]();
    await service?.[Symbol.asyncDispose]();
    await tool?.[Symbol.asyncDispose]();
    await workspace?.[Symbol.asyncDispose]();
    await certificates?.[Symbol.asyncDispose]();
  });

  it("starts no service because of the files of a workspace that isn't trusted", async () => {
    assert((await window.quickInput.commandsFor("Pipeline Runs:")).includes("Pipeline Runs: Run Pipeline…"));
    assert.equal(await window.statusBar.item(quota).count(), 0);
    assert.deepEqual(await readdir(tool.data), []);
  });

  it("comes to life when the workspace is trusted, and reaches its own service past the proxy", async () => {
    await window.quickInput.runCommand("Workspaces: Manage Workspace Trust");
    await window.page
      .locator(".workspace-trust-editor")
      .getByRole("button", { name: "Trust", exact: true })
      .first()
      .click();
    await window.statusBar.waitForText(quota, /^0 of 50 runs used today$/);
    await window.quickInput.runCommand("Pipeline Runs: Run Pipeline…");
    await window.quickInput.pick("hello");
    await window.statusBar.waitForText(quota, /^1 of 50 runs used today$/);
    assert.deepEqual(proxy.asked, []);
  });

  it("sends what is for the cloud through the editor's proxy, and believes the system's certificates", async () => {
    await window.quickInput.runCommand("Pipeline Runs: Choose API Key…");
    await window.quickInput.pick("Add API Key…");
    await window.quickInput.waitForTitle("Add API Key");
    await window.quickInput.type("https://service.test");
    await window.quickInput.accept();
    await window.quickInput.waitForTitle("Set API Key");
    await window.quickInput.type(testKey);
    await window.quickInput.accept();
    await window.notifications.toast(/^The API key is set: Lamps, at https:\/\/service\.test\.$/);
    await window.statusBar.waitForText(quota, /^7 of 50 runs used today$/);
    assert(proxy.asked.length > 0);
    assert(proxy.asked.every((authority) => authority === "service.test:443"));
    // Its events were asked for, too, by the same way: there is no other.
    assert(service.asked.some(({ path }) => path === "/api/events"));
    assert(!proxy.seen.includes(testKey));
  });

  it("is chosen to use this machine's own service again, in this workspace, and tells the proxy nothing", async () => {
    const asked = proxy.asked.length;
    await window.quickInput.runCommand("Pipeline Runs: Choose API Key…");
    await window.quickInput.pick("This machine's own service");
    await window.statusBar.waitForText(quota, /^1 of 50 runs used today$/);
    await window.statusBar.pointAt(quota, "This machine's own service (chosen for this workspace)");
    await window.statusBar.pointElsewhere();
    assert.equal(proxy.asked.length, asked);
  });
});
