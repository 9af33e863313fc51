import assert from "node:assert/strict";
import { LoopbackService, orgOnWire, sendError, sendJson, testKey } from "../../client/loopbackService.ts";
import { TemporaryFolder } from "../../temporaryFolder.ts";
import type { EditorWindow } from "./editorWindow.ts";
import { screen } from "./screen.ts";
import { shownText } from "./shownText.ts";

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

  const asks = () => service.asked.filter(({ path }) => path === "/api/org").length;

  it("are right on another tier, and say how old a number is that had to be asked for", async () => {
    await at.window.setApiKey(testKey);
    await at.window.statusBar.waitForText(quota, /^120 of 1000 runs used today$/);
    const text = await shownText(await at.window.statusBar.pointAt(quota, "tier team"));
    await at.window.statusBar.pointElsewhere();
    assert.match(text, /As of .+: this service has to be asked/);
    assert.doesNotMatch(text, /places/);
  });

  it("ask as one: the second shows what the first was told, and the service hears of neither twice", async () => {
    const [askedForNumbers, asked] = [asks(), service.asked.length];
    const began = performance.now();
    second = await at.window.openAnother(folder);
    await second.statusBar.waitForText(quota, /^120 of 1000 runs used today$/);
    // Each time that half a minute has passed one of them asks for both.
    const allowed = 1 + Math.floor((performance.now() - began) / 30_000);
    assert(asks() - askedForNumbers <= allowed, String(asks() - askedForNumbers));
    assert.equal(service.asked.length - asked, asks() - askedForNumbers);
  });

  it("both show a number that one of them was told anew", async () => {
    used = 121;
    await at.window.quickInput.runCommand("Pipeline Runs: Refresh Runs");
    await at.window.statusBar.waitForText(quota, /^121 of 1000 runs used today$/);
    await second.statusBar.waitForText(quota, /^121 of 1000 runs used today$/, 20_000);
  });

  it("both say that they don't know once the service is out of reach", async () => {
    isUp = false;
    await at.window.statusBar.waitForText(quota, /out of reach$/, 60_000);
    await second.statusBar.waitForText(quota, /out of reach$/, 60_000);
  });

  it("tell of a revoked key once, in one of them", async () => {
    accepts = false;
    isUp = true;
    await at.window.statusBar.waitForText(quota, /API key not accepted$/, 60_000);
    await second.statusBar.waitForText(quota, /API key not accepted$/, 60_000);
    const texts = [...(await at.window.notifications.centre()), ...(await second.notifications.centre())];
    assert.equal(
      texts.filter((text) => text.includes("does not accept the API key of Lamps any more")).length,
      1,
      texts.join(),
    );
  });

  it("are right again as soon as the key is accepted and one of them is told to look", async () => {
    accepts = true;
    used = 122;
    for (const window of [at.window, second]) {
      await window.quickInput.runCommand("Pipeline Runs: Refresh Runs");
      await window.statusBar.waitForText(quota, /^122 of 1000 runs used today$/);
    }
  });
});
