import assert from "node:assert/strict";
import { stopWaiting } from "../../../src/extension/commands/pendingStarts.ts";
import { pickRun } from "../../../src/extension/commands/pickRun.ts";
import { copyRunId } from "../../../src/extension/commands/viewCommands.ts";
import { pickPipeline } from "../../../src/extension/start/chooseStart.ts";
import { Waits } from "../../../src/extension/start/waitNotice.ts";

const odd = "odd $(flame)";
const never = new AbortController().signal;
const drawn = /\$\((?!warning\))/;

describe("a name that looks like an icon", () => {
  it("is shown as it is in the lists of runs, of pipelines and of waits, and in the status bar", async () => {
    const shown: unknown[] = [];
    const window = {
      showQuickPick: async (rows: unknown) => void shown.push(rows),
      setStatusBarMessage: (text: string) => void shown.push(text),
      createQuickPick: () => {
        const listeners: ((value: string) => void)[] = [];
        return {
          activeItems: [],
          set items(rows: unknown) {
            shown.push(rows);
          },
          onDidChangeValue: (listener: (value: string) => void) => listeners.push(listener),
          onDidAccept: () => {},
          onDidHide: (hide: () => void) => void setImmediate(hide),
          show: () => {
            for (const listener of listeners) listener(odd);
          },
          dispose: () => {},
        };
      },
    } as never;
    const run = {
      runId: odd,
      pipeline: odd,
      project: odd,
      status: odd,
      actor: odd,
      runner: "local",
      createdAt: "2026-03-03T10:00:00Z",
      stoppedAt: "2026-03-03T10:00:05Z",
      timeLimitSeconds: 60,
    };
    await pickRun([run], { title: "", placeHolder: "" }, { me: "key_1", serviceNow: 0, now: 0 }, window);
    const entry = { name: odd, project: odd, path: odd, resourceTypes: [] };
    await pickPipeline([entry, { ...entry, name: "broken", problem: odd }], window, "");
    await pickPipeline([], window, "");
    const waits = new Waits();
    for (const project of ["one", "two"]) waits.begin({ pipeline: odd, project }, () => {}).update(5);
    await stopWaiting({ waits, window });
    const clipboard = { writeText: async () => {} };
    await copyRunId({ window, clipboard, signal: never } as never, { runId: odd });
    const kept = new Set(["run", "entry", "wait"]);
    const texts = shown.map((rows) =>
      JSON.stringify(rows, (key, value) => (kept.has(key) ? undefined : value)),
    );
    assert.deepEqual(
      texts.filter((text) => text !== "[]").map((text) => text.includes("odd $ (flame)")),
      [...Array(6).fill(true)],
    );
    assert.doesNotMatch(texts.join(), drawn);
  });
});
