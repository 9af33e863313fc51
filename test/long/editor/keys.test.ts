import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { readConnection } from "../../../src/client/embedded/connectionFile.ts";
import { type Toolbox, toolbox, written } from "../../cli/toolbox.ts";
import { screen } from "../../editor/screen/screen.ts";
import { pointElsewhere } from "../../editor/screen/tooltip.ts";

const quota = "pipeline-runs.pipeline-runs.quota";
const setKey = "Pipeline Runs: Set API Key…";
const chooseKey = "Pipeline Runs: Choose API Key…";

describe("the editor, with a service that a setting names", () => {
  let data: string;
  let tool: Toolbox;
  let serving: ReturnType<Toolbox["spawn"]>;
  let key: string;
  const at = screen(async (held) => {
    tool = held.use(await toolbox());
    serving = tool.spawn(["serve"]);
    held.defer(async () => {
      serving.kill("SIGTERM");
      await serving;
    });
    await written(serving.stdout, /Serving at/);
    const made = await tool.run(["keys", "create", "--role", "member", "--org", "Acme", "--json"]);
    key = JSON.parse(made.stdout)["api-key"];
    data = held.use(await toolbox()).data;
    return { env: { PIPELINE_DATA_DIR: data } };
  });

  const enterKey = async (text: string) => {
    await at.window.quickInput.waitForTitle("Set API Key");
    assert(await at.window.quickInput.isPassword());
    await at.window.quickInput.type(text);
    await at.window.quickInput.accept();
  };

  it("shows and starts nothing in a window without pipelines, until a command is used", async () => {
    // The palette offers our commands only once the window has its extensions.
    assert(
      (await at.window.quickInput.commandsFor("Pipeline Runs:")).includes("Pipeline Runs: Run Pipeline…"),
    );
    assert.equal(await at.window.statusBar.item(quota).count(), 0);
    assert.deepEqual(await readdir(data), []);
    await at.window.quickInput.runCommand("Pipeline Runs: Cancel My Runs");
    await at.window.notifications.toast(/^You have no runs in progress\.$/);
    await at.window.statusBar.waitForText(quota, /^0 of 50 runs used today$/);
  });

  it("says that a base URL is none as soon as it is set, and offers the settings", async () => {
    await at.window.writeSettings({ "pipelineRuns.baseUrl": "cloud" });
    await at.window.statusBar.waitForText(quota, /base URL can't be used$/);
    await at.window.quickInput.runCommand("Pipeline Runs: Run Pipeline…");
    const toast = await at.window.notifications.toast(/^The setting pipelineRuns\.baseUrl can't be used\./);
    assert.deepEqual(await toast.buttons(), ["Open Settings"]);
  });

  it("says that what answers is not the service", async () => {
    const server = createServer((_, response) => response.end("<html>a web page</html>"));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    try {
      await at.window.writeSettings({ "pipelineRuns.baseUrl": url });
      await at.window.statusBar.waitForText(quota, /no API key$/);
      await at.window.setApiKey("plr_some_key");
      await at.window.notifications.toast(/The API key was saved, but could not be tested\./);
      await at.window.statusBar.waitForText(quota, /service can't be reached$/);
      assert.match(await at.window.statusBar.label(quota), /can't be reached/);
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });

  it("says that there is no key, and the menu of a click asks for one first", async () => {
    const { url } = (await readConnection(tool.data)) ?? {};
    await at.window.writeSettings({ "pipelineRuns.baseUrl": url });
    await at.window.statusBar.waitForText(quota, /no API key$/);
    await at.window.statusBar.click(quota);
    await at.window.quickInput.waitForRow("Set API Key…");
    await at.window.quickInput.accept();
    await at.window.quickInput.waitForTitle("Set API Key");
    await at.window.quickInput.dismiss();
  });

  it("does not keep a key that the service does not accept", async () => {
    await at.window.quickInput.runCommand(setKey);
    await enterKey("plr_wrong");
    const toast = await at.window.notifications.toast(/doesn't accept this API key\. It was not saved\.$/);
    assert.deepEqual(await toast.buttons(), ["Try Again"]);
    await toast.press("Try Again");
    await enterKey(key);
    await at.window.notifications.toast(/^The API key is set: Acme, at http:/);
    await at.window.statusBar.waitForText(quota, /^0 of 50 runs used today$/);
  });

  it("keeps the key over a reload of the window", async () => {
    await at.window.reload();
    await at.window.statusBar.waitForText(quota, /^0 of 50 runs used today$/);
  });

  it("keeps another org's key beside it, chosen for this workspace from a list that names the orgs", async () => {
    const made = await tool.run(["keys", "create", "--role", "viewer", "--org", "Zebra", "--json"]);
    await at.window.quickInput.runCommand(setKey);
    await enterKey(JSON.parse(made.stdout)["api-key"]);
    await at.window.notifications.toast(/^The API key is set: Zebra, at http:/);
    await at.window.statusBar.pointAt(quota, "Zebra · tier free");
    await pointElsewhere(at.window.page);
    await at.window.quickInput.runCommand(chooseKey);
    await at.window.quickInput.waitForRow("Zebra");
    assert.deepEqual(
      (await at.window.quickInput.rows()).filter((row) => ["Acme", "Zebra"].includes(row)),
      ["Acme", "Zebra"],
    );
    await at.window.quickInput.pick("Acme");
    await at.window.statusBar.pointAt(quota, "Acme · tier free");
    await pointElsewhere(at.window.page);
    await at.window.quickInput.runCommand(chooseKey);
    const row = await at.window.quickInput.waitForRow("Zebra");
    await row.hover();
    await row.getByRole("button", { name: "Remove API Key" }).click();
    await at.window.modal.waitFor("Remove the API key of Zebra");
    await at.window.modal.press("Remove");
    await at.window.quickInput.waitUntilRowIsGone("Zebra");
    await at.window.quickInput.waitForRow("Acme");
    assert(!(await at.window.quickInput.rows()).includes("Zebra"));
    await at.window.quickInput.dismiss();
  });

  it("tells of a revoked key once, and goes on with the next", async () => {
    const made = await tool.run(["keys", "create", "--role", "member", "--org", "Acme", "--json"]);
    const { "api-key": second, "key-id": id } = JSON.parse(made.stdout);
    await at.window.quickInput.runCommand(setKey);
    await enterKey(second);
    // The service has accepted it: the number alone is the same with the key before.
    await at.window.notifications.toast(/^The API key is set: Acme/);
    await at.window.statusBar.waitForText(quota, /^0 of 50 runs used today$/);
    const revoked = await tool.run(["keys", "revoke", id]);
    assert.equal(revoked.exitCode, 0, revoked.stderr);
    await at.window.statusBar.waitForText(quota, /API key not accepted$/);
    const toast = await at.window.notifications.toast(/no longer accepts the API key of Acme\.$/);
    assert.deepEqual(await toast.buttons(), ["Set API Key…", "Choose Another…"]);
    await toast.press("Set API Key…");
    await enterKey(key);
    await at.window.statusBar.waitForText(quota, /^0 of 50 runs used today$/);
  });

  it("forgets the key with Remove API Key", async () => {
    await at.window.quickInput.runCommand("Pipeline Runs: Remove API Key");
    await at.window.notifications.toast(/was removed\.$/);
    await at.window.statusBar.waitForText(quota, /no API key$/);
  });

  it("shows no number once the service has gone, and comes back by itself", async () => {
    await at.window.quickInput.runCommand(setKey);
    await enterKey(key);
    await at.window.statusBar.waitForText(quota, /^0 of 50 runs used today$/);
    const { port } = new URL((await readConnection(tool.data))?.url ?? "");
    serving.kill("SIGTERM");
    await serving;
    await at.window.statusBar.waitForText(quota, /service can't be reached$/);
    serving = tool.spawn(["serve", "--port", port]);
    await at.window.statusBar.waitForText(quota, /^0 of 50 runs used today$/, 90_000);
  });
});
