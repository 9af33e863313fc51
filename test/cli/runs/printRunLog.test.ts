import assert from "node:assert/strict";
import { Output } from "../../../src/cli/output/output.ts";
import { printRunLog } from "../../../src/cli/runs/printRunLog.ts";
import type { Tool } from "../../../src/cli/tool.ts";
import { systemClock } from "../../../src/machine/clock.ts";
import { LoopbackService } from "../../client/loopbackService.ts";

const never = new AbortController().signal;
describe("the printing of a run's log", () => {
  it("leaves the log, and tells why, when a line can't be printed", async () => {
    await using service = await LoopbackService.listen((_, response) => {
      const entry = {
        sequence: 1,
        at: "2026-03-03T10:00:00Z",
        "step-index": 0,
        stream: "stdout",
        text: "one\n",
      };
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(`id: 1\nevent: log\ndata: ${JSON.stringify(entry)}\n\n`);
    });
    const out = {
      write: (): boolean => {
        throw new Error("no room left");
      },
    };
    const flags = { json: false, quiet: false, color: false };
    const tool: Tool = {
      output: new Output({ out, err: out, env: {}, flags }),
      env: {},
      folder: ".",
      interrupted: never,
      leaving: never,
      unread: never,
      programs: "",
      connect: async () => service.client(systemClock),
    };
    await assert.rejects(printRunLog(tool, { follow: true }, "run_1"), /no room left/);
    await service.until(() => service.left === 1);
  });
});
