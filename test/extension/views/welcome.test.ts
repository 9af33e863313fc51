import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { RunListState } from "../../../src/extension/session/runList.ts";
import type { SessionState } from "../../../src/extension/session/serviceConnection.ts";
import { ContextKeys, pipelinesWelcome, runsWelcome } from "../../../src/extension/views/welcome.ts";
import type { WindowFilesState } from "../../../src/extension/window/windowFiles.ts";
import { org } from "../status/facts.ts";

const live: SessionState = { kind: "live", org, activeRuns: [] };
const unknown: RunListState = { kind: "unknown" };
const none: RunListState = { kind: "listed", runs: [], hasMore: false, me: "key_1", clockAhead: 0 };
const project = { name: "shop", root: "/shop" };
const files: readonly WindowFilesState[] = [
  { kind: "no-folder" },
  { kind: "virtual" },
  { kind: "untrusted" },
  { kind: "no-pipelines" },
  { kind: "pipelines", projects: [project] },
];
const [noFolder = { kind: "unknown" }] = files;

describe("the welcome of an empty view", () => {
  it("says first what is in the way of the service", () => {
    const of = (session: SessionState) => runsWelcome(session, unknown, noFolder);
    assert.equal(of({ kind: "no-key", origin: "https://a.example", refused: false }), "no-key");
    assert.equal(of({ kind: "no-key", origin: "https://a.example", refused: true }), "key-refused");
    assert.equal(of({ kind: "out-of-reach", problem: "away", retried: true }), "out-of-reach");
    assert.equal(of({ kind: "out-of-reach", problem: "no URL", retried: false }), "settings");
    assert.equal(of({ kind: "stopped" }), "stopped");
    assert.equal(of({ kind: "not-supported", problem: "elsewhere" }), "virtual");
  });

  it("says nothing as long as nothing is known", () => {
    assert.equal(runsWelcome({ kind: "idle" }, unknown, noFolder), "");
    assert.equal(runsWelcome({ kind: "idle" }, unknown, { kind: "untrusted" }), "untrusted");
    assert.equal(runsWelcome({ kind: "connecting" }, unknown, noFolder), "");
    assert.equal(runsWelcome(live, unknown, noFolder), "");
    assert.equal(pipelinesWelcome({ kind: "unknown" }), "");
  });

  it("says what to do where there is no run yet, or none is told", () => {
    assert.deepEqual(
      files.map((state) => runsWelcome(live, none, state)),
      ["no-folder", "virtual", "untrusted", "no-pipelines", "no-runs"],
    );
    assert.equal(runsWelcome(live, { kind: "not-listed" }, noFolder), "not-listed");
    assert.equal(runsWelcome(live, { kind: "failed" }, noFolder), "list-failed");
    assert.deepEqual(files.map(pipelinesWelcome), ["no-folder", "virtual", "untrusted", "no-pipelines", ""]);
  });

  it("has a text in the manifest for each of its kinds, which offers only commands that there are", () => {
    const read = (file: string) =>
      JSON.parse(readFileSync(join(import.meta.dirname, "../../..", file), "utf8"));
    const { viewsWelcome }: { viewsWelcome: { view: string; when: string; contents: string }[] } =
      read("package.json").contributes;
    const whens = viewsWelcome.map(({ when }) => when);
    const runs = new Set([
      ...files.map((state) => runsWelcome(live, none, state)),
      "no-key",
      "key-refused",
      "out-of-reach",
      "stopped",
      "settings",
      "list-failed",
      "not-listed",
    ]);
    const pipelines = files.map(pipelinesWelcome).filter((kind) => kind !== "");
    assert.deepEqual(
      whens.sort(),
      [
        ...[...runs].map((kind) => `pipelineRuns.runsWelcome == '${kind}'`),
        ...pipelines.map((kind) => `pipelineRuns.pipelinesWelcome == '${kind}'`),
      ].sort(),
    );
  });

  it("is told to the editor only when it changes", () => {
    const told: unknown[][] = [];
    const contexts = new ContextKeys(async (...call) => void told.push(call));
    contexts.set("pipelineRuns.runsWelcome", "no-key");
    contexts.set("pipelineRuns.runsWelcome", "no-key");
    contexts.set("pipelineRuns.runsWelcome", "");
    assert.deepEqual(told, [
      ["setContext", "pipelineRuns.runsWelcome", "no-key"],
      ["setContext", "pipelineRuns.runsWelcome", ""],
    ]);
  });
});
