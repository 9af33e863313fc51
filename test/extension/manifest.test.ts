import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { commands as registered } from "../../src/extension/commands/commands.ts";

const read = (file: string) => JSON.parse(readFileSync(join(import.meta.dirname, "../..", file), "utf8"));

describe("the manifest", () => {
  const manifest = read("package.json");
  const texts: Record<string, string> = read("package.nls.json");
  const { commands, configuration } = manifest.contributes;

  it("contributes exactly the commands that the code registers, in the order of their ids", () => {
    const contributed = commands.map(({ command }: { command: string }) => command);
    assert.deepEqual(contributed, Object.keys(registered).sort());
    assert.deepEqual(Object.keys(registered), Object.keys(registered).sort());
    for (const { category } of commands) assert.equal(category, "Pipeline Runs");
  });

  it("has the contract's titles", () => {
    const titles = Object.fromEntries(
      commands.map(({ command, title }: Record<string, string>) => [command, textOf(title)]),
    );
    const given = {
      "pipelineRuns.run": "Run Pipeline…",
      "pipelineRuns.cancel": "Cancel Run…",
      "pipelineRuns.cancelMine": "Cancel My Runs",
      "pipelineRuns.setApiKey": "Set API Key…",
      "pipelineRuns.removeApiKey": "Remove API Key",
    };
    for (const [command, title] of Object.entries(given)) assert.equal(titles[command], title);
  });

  it("lets no workspace set where the key goes or which program is run", () => {
    for (const name of ["baseUrl", "cliPath"]) {
      const { scope, default: byDefault } = configuration.properties[`pipelineRuns.${name}`];
      assert.equal(scope, "application");
      assert.equal(byDefault, "");
    }
  });

  it("has a text for each of its keys, and no text that nothing uses", () => {
    const used = [...JSON.stringify(manifest).matchAll(/"%([\w.]+)%"/g)].map(([, key]) => key);
    assert.deepEqual([...new Set(used)].sort(), Object.keys(texts).sort());
  });

  it("has no run-time dependency: everything is bundled", () => {
    assert.equal(manifest.dependencies, undefined);
  });

  function textOf(title: string | undefined): string | undefined {
    return texts[title?.slice(1, -1) ?? ""];
  }
});
