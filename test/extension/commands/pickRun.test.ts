import assert from "node:assert/strict";
import type { QuickPickItem } from "vscode";
import { pickRun } from "../../../src/extension/commands/pickRun.ts";
import { FakeClock } from "../../client/fakeClock.ts";
import { LoopbackService, orgOnWire, sendJson } from "../../client/loopbackService.ts";

describe("picking a run from a list", () => {
  it("tells how long a run is active by the service's clock, whatever this machine's says", async () => {
    const clock = new FakeClock();
    const createdAt = clock.now() + 3_600_000;
    await using service = await LoopbackService.listen((_, response) => {
      response.setHeader("date", new Date(createdAt + 42_000).toUTCString());
      sendJson(response, 200, orgOnWire);
    });
    const shown: QuickPickItem[] = [];
    const window = {
      showQuickPick: async (items: readonly QuickPickItem[]) => void shown.push(...items),
    };
    await pickRun(
      [
        {
          runId: "run_1",
          pipeline: "nightly",
          project: "lamps",
          status: "running",
          actor: "key_1",
          runner: "local",
          createdAt: new Date(createdAt).toISOString(),
          timeLimitSeconds: 3600,
        },
      ],
      { title: "Cancel Run", placeHolder: "" },
      service.client(clock),
      window as never,
      AbortSignal.timeout(10_000),
    );
    assert.deepEqual(
      shown.map(({ description }) => description),
      ["running for 42 s"],
    );
  });
});
