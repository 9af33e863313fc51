import assert from "node:assert/strict";
import { stopWaiting } from "../../../src/extension/commands/pendingStarts.ts";
import { Waits } from "../../../src/extension/start/waitNotice.ts";

describe("the list of starts that wait", () => {
  it("says of each for how long it still waits, and at which place", async () => {
    const waits = new Waits();
    waits.begin({ pipeline: "nightly" }, () => {}).update(118, { place: 2, waiting: 3 });
    waits.begin({ pipeline: "smoke" }, () => {}).update(60);
    const shown: unknown[] = [];
    const window = {
      showQuickPick: async (items: readonly { label: string; description: string }[]) => {
        for (const { label, description } of items) shown.push(`${label}: ${description}`);
      },
      showInformationMessage: async () => undefined,
    };
    await stopWaiting({ waits, window: window as never });
    assert.deepEqual(shown, [
      "nightly: waiting, 2nd of 3; gives up in 118 s",
      "smoke: waiting; gives up in 60 s",
    ]);
  });
});
