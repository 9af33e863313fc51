import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { LoopbackService, orgOnWire, sendJson } from "../../client/loopbackService.ts";
import { EditorWindow } from "../../editor/screen/editorWindow.ts";
import { KeySearch } from "../../security/keySearch.ts";
import { TemporaryFolder } from "../../temporaryFolder.ts";

const quota = "pipeline-runs.pipeline-runs.quota";
const key = `plk_live_${randomBytes(32).toString("base64url")}`;
const search = new KeySearch({ "the cloud's key": key });

// A desktop VS Code has no page that a test could look at.
if (process.platform === "linux") {
  describe("a cloud's key, entered in the editor", function () {
    this.timeout(300_000);

    it("is in no file of the editor, no log of any level, no console and no list of processes, though the service sends it back", async () => {
      let isGood = true;
      await using service = await LoopbackService.listen(({ headers, path }, response) => {
        const told = `${headers["x-api-key"]}`;
        if (isGood && path === "/api/org") return sendJson(response, 200, orgOnWire);
        sendJson(response, isGood ? 404 : 500, { error: { type: told, message: `no ${told}`, next: told } });
      });
      await using data = await TemporaryFolder.make();
      const env = { PIPELINE_DATA_DIR: data.path };
      const settings = { "pipelineRuns.baseUrl": service.origin };
      // The extension included.
      await using window = await EditorWindow.start({ settings, env, logsAll: true });
      await window.statusBar.waitForText(quota, /no API key$/);
      await window.setApiKey(key);
      await window.statusBar.waitForText(quota, /runs used today$/);
      isGood = false;
      await window.quickInput.runCommand("Pipeline Runs: Cancel My Runs");
      await window.notifications.toast(/./);

      const sent = service.asked.filter(({ headers }) => headers["x-api-key"] === key);
      assert.ok(sent.length >= 2, `the key was used ${sent.length} times`);
      const { finds, files } = await search.inFolder(window.dataFolder);
      finds.push(...search.inText(window.console, "the browser's console"));
      finds.push(...search.inText((await window.page.locator("body").textContent()) ?? "", "the screen"));
      for (const id of (await readdir("/proc")).filter((name) => /^\d+$/.test(name))) {
        for (const file of ["cmdline", "environ"]) {
          finds.push(
            ...search.in(await readFile(`/proc/${id}/${file}`).catch(() => Buffer.of()), `${id} ${file}`),
          );
        }
      }
      assert.deepEqual(finds, []);
      const logs = files.filter((file) => file.endsWith("Pipeline Runs.log"));
      assert.ok(logs.length > 0, "the extension has a log");
      const texts = await Promise.all(logs.map((file) => readFile(`${window.dataFolder}/${file}`, "utf8")));
      assert.match(texts.join("\n"), /\[(trace|debug|info|warning|error)\]/);
    });
  });
}
