import assert from "node:assert/strict";
import { LoopbackService, orgOnWire, sendError, sendJson } from "../../client/loopbackService.ts";
import { screen } from "../../editor/screen/screen.ts";
import { TreeView } from "../../editor/screen/treeView.ts";

describe("the empty views, with a service that a setting names", () => {
  let mood: "refuses" | "given-only" | "lists" | "fails" = "given-only";
  let runs: TreeView;
  const at = screen(
    async (held) => {
      const service = held.use(
        await LoopbackService.listen(({ path }, response) => {
          if (mood === "refuses") sendError(response, 401, "unauthorized");
          else if (mood === "fails") sendError(response, 503, "internal");
          else if (path === "/api/org") sendJson(response, 200, orgOnWire);
          else if (mood === "lists" && path.startsWith("/api/runs")) sendJson(response, 200, { runs: [] });
          else response.writeHead(404).end("none");
        }),
      );
      return { settings: { "pipelineRuns.baseUrl": service.origin } };
    },
    async ({ page }) => {
      runs = new TreeView(page, "Runs");
    },
  );

  const refresh = () => at.window.quickInput.runCommand("Pipeline Runs: Refresh Runs");

  it("say that a key is needed, and ask for it", async () => {
    await at.window.quickInput.runCommand("Pipelines: Focus on Runs View");
    await runs.waitForWelcome("needs an API key");
    assert.deepEqual(await runs.welcomeButtons(), ["Set API Key…", "Open Settings"]);
    await runs.pressInWelcome("Set API Key…");
    await at.window.quickInput.waitForTitle("Set API Key");
    await at.window.quickInput.type("plr_some_key");
    await at.window.quickInput.accept();
  });

  it("say that the service lists no runs, and offer what can be done all the same", async () => {
    await runs.waitForWelcome("This service doesn't list its runs");
    assert.deepEqual(await runs.welcomeButtons(), ["Run Pipeline…", "Cancel My Runs"]);
  });

  it("say that the folder has no pipelines yet, and offer one", async () => {
    await new TreeView(at.window.page, "Pipelines").waitForWelcome("This folder has no pipelines yet.");
    mood = "lists";
    await at.window.reload();
    await runs.waitForWelcome("No runs yet, and no pipelines in this folder.");
    assert.deepEqual(await runs.welcomeButtons(), ["New File…"]);
  });

  it("say that the key isn't accepted any more", async () => {
    mood = "refuses";
    await refresh();
    await runs.waitForWelcome("does not accept the API key");
  });

  it("say that the service is out of reach, and try again when asked", async () => {
    mood = "fails";
    await refresh();
    await runs.waitForWelcome("The service can't be reached.");
    assert.deepEqual(await runs.welcomeButtons(), ["Try Again", "Show Log"]);
    mood = "lists";
    await runs.pressInWelcome("Try Again");
    await runs.waitForWelcome("No runs yet");
  });
});
