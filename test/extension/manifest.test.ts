import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";

const root = join(import.meta.dirname, "../..");

describe("the manifest", () => {
  it("contributes exactly the commands that the code registers", async () => {
    const manifest = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
    const code = await readFile(join(root, "src/extension/extension.ts"), "utf8");
    const registered = [...code.matchAll(/^ {4}"(pipelineRuns\.\w+)": /gm)].map(([, id]) => id);
    const contributed = manifest.contributes.commands.map(({ command }: { command: string }) => command);
    assert.deepEqual(contributed.sort(), registered.sort());
    for (const { category } of manifest.contributes.commands) assert.equal(category, "Pipeline Runs");
  });

  it("has the contract's titles", async () => {
    const manifest = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
    const titles = Object.fromEntries(
      manifest.contributes.commands.map(({ command, title }: Record<string, string>) => [command, title]),
    );
    assert.deepEqual(titles, {
      "pipelineRuns.run": "Run Pipeline…",
      "pipelineRuns.cancel": "Cancel Run…",
      "pipelineRuns.cancelMine": "Cancel My Runs",
      "pipelineRuns.setApiKey": "Set API Key…",
      "pipelineRuns.removeApiKey": "Remove API Key",
      "pipelineRuns.showLog": "Show Log",
    });
  });

  it("lets no workspace set where the key goes or which program is run", async () => {
    const manifest = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
    const { properties } = manifest.contributes.configuration;
    assert.deepEqual(Object.keys(properties).sort(), ["pipelineRuns.baseUrl", "pipelineRuns.cliPath"]);
    for (const { scope, default: byDefault } of Object.values<Record<string, string>>(properties)) {
      assert.equal(scope, "application");
      assert.equal(byDefault, "");
    }
  });

  it("has no run-time dependency: everything is bundled", async () => {
    const manifest = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
    assert.equal(manifest.dependencies, undefined);
  });
});
