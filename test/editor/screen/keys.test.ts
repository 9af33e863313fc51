import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { vsixFile } from "../../../scripts/editor/vsixFile.ts";
import { readConnection } from "../../../src/client/embedded/connectionFile.ts";
import { toolbox, written } from "../../cli/toolbox.ts";
import type { EditorWindow } from "./editorWindow.ts";
import { openWindow } from "./openWindow.ts";
import { traceFailures } from "./traceFailures.ts";

const quota = "pipeline-runs.pipeline-runs.quota";
const setKey = "Pipeline Runs: Set API Key…";
const chooseKey = "Pipeline Runs: Choose API Key…";

describe("the editor, with a service that a setting names", function () {
  this.timeout(120_000);
  let window: EditorWindow;
  let tool: Awaited<ReturnType<typeof toolbox>>;
  let serving: ReturnType<typeof tool.spawn>;
  let key: string;
  traceFailures(() => window);

  before(async function () {
    this.timeout(300_000);
    tool = await toolbox();
    serving = tool.spawn(["serve"]);
    await written(serving.stdout, /Serving at/);
    const made = await tool.run(["keys", "create", "--role", "member", "--org", "Acme", "--json"]);
    key = JSON.parse(made.stdout)["api-key"];
    const { url = "" } = (await readConnection(tool.data)) ?? {};
    window = await openWindow({ vsix: vsixFile, settings: { "pipelineRuns.baseUrl": url } });
  });
  after(async () => {
    await window?.[Symbol.asyncDispose]();
    serving?.kill("SIGTERM");
    await serving;
    await tool?.[Symbol.asyncDispose]();
  });

  const enterKey = async (text: string) => {
    await window.quickInput.waitForTitle("Set API Key");
    assert(await window.quickInput.isPassword());
    await window.quickInput.type(text);
    await window.quickInput.accept();
  };

  it("says that there is no key, and the menu of a click asks for one first", async () => {
    await window.statusBar.waitForText(quota, /no API key$/);
    await window.statusBar.click(quota);
    await window.quickInput.waitForRow("Set API Key…");
    await window.quickInput.accept();
    await window.quickInput.waitForTitle("Set API Key");
    await window.quickInput.dismiss();
  });

  it("does not keep a key that the service does not accept", async () => {
    await window.quickInput.runCommand(setKey);
    await enterKey("plr_wrong");
    const toast = await window.notifications.toast(/does not accept this API key\. It was not kept\.$/);
    assert.deepEqual(await toast.buttons(), ["Try Again"]);
    await toast.press("Try Again");
    await enterKey(key);
    await window.notifications.toast(/^The API key is set: Acme, at http:/);
    await window.statusBar.waitForText(quota, /^0 of 50 runs used today$/);
  });

  it("keeps the key over a reload of the window", async () => {
    await window.reload();
    await window.statusBar.waitForText(quota, /^0 of 50 runs used today$/);
  });

  it("holds the key in secret storage alone: no file, no log and no process list has it", async () => {
    const files = await readdir(window.dataFolder, { recursive: true, withFileTypes: true });
    let read = 0;
    for (const file of files.filter((entry) => entry.isFile())) {
      const text = await readFile(join(file.parentPath, file.name), "latin1");
      assert(!text.includes(key), file.name);
      read += 1;
    }
    assert(read > 0);
    const processes = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
    for (const id of processes) {
      const command = await readFile(`/proc/${id}/cmdline`, "latin1").catch(() => "");
      assert(!command.includes(key), command);
    }
    assert(!window.console.includes(key));
  });

  it("keeps another org's key beside it, chosen for this workspace from a list that names the orgs", async () => {
    const made = await tool.run(["keys", "create", "--role", "viewer", "--org", "Zebra", "--json"]);
    await window.quickInput.runCommand(setKey);
    await enterKey(JSON.parse(made.stdout)["api-key"]);
    await window.notifications.toast(/^The API key is set: Zebra, at http:/);
    await window.statusBar.pointAt(quota, "Zebra · tier free");
    await window.statusBar.pointElsewhere();
    await window.quickInput.runCommand(chooseKey);
    await window.quickInput.waitForRow("Zebra");
    assert.deepEqual(
      (await window.quickInput.rows()).filter((row) => ["Acme", "Zebra"].includes(row)),
      ["Acme", "Zebra"],
    );
    await window.quickInput.pick("Acme");
    await window.statusBar.pointAt(quota, "Acme · tier free");
    await window.statusBar.pointElsewhere();
    await window.quickInput.runCommand(chooseKey);
    const row = await window.quickInput.waitForRow("Zebra");
    await row.hover();
    await row.getByRole("button", { name: "Remove API Key" }).click();
    await window.modal.waitFor("Remove the API key of Zebra");
    await window.modal.press("Remove");
    await window.quickInput.waitUntilRowIsGone("Zebra");
    await window.quickInput.waitForRow("Acme");
    assert(!(await window.quickInput.rows()).includes("Zebra"));
    await window.quickInput.dismiss();
  });

  it("tells of a revoked key once, and goes on with the next", async () => {
    const made = await tool.run(["keys", "create", "--role", "member", "--org", "Acme", "--json"]);
    const { "api-key": second, "key-id": id } = JSON.parse(made.stdout);
    await window.quickInput.runCommand(setKey);
    await enterKey(second);
    await window.statusBar.waitForText(quota, /^0 of 50 runs used today$/);
    const revoked = await tool.run(["keys", "revoke", id]);
    assert.equal(revoked.exitCode, 0, revoked.stderr);
    await window.statusBar.waitForText(quota, /API key not accepted$/);
    const toast = await window.notifications.toast(/does not accept the API key of Acme any more\.$/);
    assert.deepEqual(await toast.buttons(), ["Set API Key…", "Choose Another…"]);
    await toast.press("Set API Key…");
    await enterKey(key);
    await window.statusBar.waitForText(quota, /^0 of 50 runs used today$/);
  });

  it("forgets the key with Remove API Key", async () => {
    await window.quickInput.runCommand("Pipeline Runs: Remove API Key");
    await window.notifications.toast(/is removed\.$/);
    await window.statusBar.waitForText(quota, /no API key$/);
  });

  it("shows no number once the service has gone, and comes back by itself", async () => {
    await window.quickInput.runCommand(setKey);
    await enterKey(key);
    await window.statusBar.waitForText(quota, /^0 of 50 runs used today$/);
    const { port } = new URL((await readConnection(tool.data))?.url ?? "");
    serving.kill("SIGTERM");
    await serving;
    await window.statusBar.waitForText(quota, /out of reach$/);
    serving = tool.spawn(["serve", "--port", port]);
    await window.statusBar.waitForText(quota, /^0 of 50 runs used today$/, 90_000);
  });
});

describe("the editor, with settings that can't work", function () {
  this.timeout(300_000);

  it("says that a base URL is none, and offers the settings", async () => {
    await using window = await openWindow({ vsix: vsixFile, settings: { "pipelineRuns.baseUrl": "cloud" } });
    await window.statusBar.waitForText(quota, /base URL can't be used$/);
    await window.quickInput.runCommand("Pipeline Runs: Run Pipeline…");
    const toast = await window.notifications.toast(/^The setting pipelineRuns\.baseUrl can't be used\./);
    assert.deepEqual(await toast.buttons(), ["Open Settings"]);
  });

  it("says that what answers is not the service", async () => {
    const server = createServer((_, response) => response.end("<html>a web page</html>"));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    try {
      await using window = await openWindow({ vsix: vsixFile, settings: { "pipelineRuns.baseUrl": url } });
      await window.quickInput.runCommand(setKey);
      await window.quickInput.waitForTitle("Set API Key");
      await window.quickInput.type("plr_some_key");
      await window.quickInput.accept();
      await window.notifications.toast(/The API key is kept, but could not be tried\./);
      await window.statusBar.waitForText(quota, /out of reach$/);
      assert.match(await window.statusBar.label(quota), /out of reach/);
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });

  it("shows and starts nothing in a window without pipelines, until a command is used", async () => {
    await using tool = await toolbox();
    await using window = await openWindow({ vsix: vsixFile, env: { PIPELINE_DATA_DIR: tool.data } });
    // The palette offers our commands only once the window has its extensions.
    assert((await window.quickInput.commandsFor("Pipeline Runs:")).includes("Pipeline Runs: Run Pipeline…"));
    assert.equal(await window.statusBar.item(quota).count(), 0);
    assert.deepEqual(await readdir(tool.data), []);
    await window.quickInput.runCommand("Pipeline Runs: Cancel My Runs");
    await window.notifications.toast(/^No run in work was started by your key\.$/);
    await window.statusBar.waitForText(quota, /^0 of 50 runs used today$/);
  });
});
