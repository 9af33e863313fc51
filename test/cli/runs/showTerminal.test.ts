import assert from "node:assert/strict";
import { stripVTControlCharacters } from "node:util";
import {
  LoopbackService,
  orgOnWire,
  runOnWire,
  sendError,
  sendJson,
  testKey,
} from "../../client/loopbackService.ts";
import { itOn } from "../../itOn.ts";
import { onTerminal } from "../onTerminal.ts";
import { toolbox } from "../toolbox.ts";

const cancelled = runOnWire({
  status: "cancelled",
  "stopped-at": "2026-03-03T10:00:02Z",
  reason: "cancelled by key_1",
  "time-limit-seconds": 90,
});

/** What a terminal, or a script, is shown of a run that key_1 started and cancelled. */
async function shown(service: LoopbackService, isTerminal = true): Promise<string> {
  await using tool = await toolbox();
  const env = { PIPELINE_BASE_URL: service.origin, PIPELINE_API_KEY: testKey };
  const { stdout } = isTerminal
    ? await onTerminal(tool, "runs show run_1", env, 120)
    : await tool.run(["runs", "show", "run_1"], env);
  return stripVTControlCharacters(stdout).replaceAll("\r", "");
}

describe("pipeline runs show, on a terminal", () => {
  itOn("linux", "says you where it is the reader's key, which it asks for beside the run", async () => {
    const waiting: (() => void)[] = [];
    await using service = await LoopbackService.listen(({ path }, response) => {
      waiting.push(() => sendJson(response, 200, path === "/api/org" ? orgOnWire : cancelled));
      // Neither has a reply before both are asked.
      if (waiting.length === 2) for (const answer of waiting) answer();
    });
    const text = await shown(service);
    assert.match(text, /^started by +you \(key_1\)$/m);
    assert.match(text, /^reason +cancelled by you$/m);
    assert.match(text, /^time limit +1 min 30 s$/m);
  });

  itOn("linux", "shows the key's id where it can't be known, and to a script", async () => {
    for (const isTerminal of [true, false]) {
      await using service = await LoopbackService.listen(({ path }, response) => {
        if (path !== "/api/org") sendJson(response, 200, cancelled);
        else if (isTerminal) sendError(response, 403, "forbidden");
        else sendJson(response, 200, orgOnWire);
      });
      const text = await shown(service, isTerminal);
      assert.match(text, /^started by +key_1$/m);
      assert.match(text, /^reason +cancelled by key_1$/m);
    }
  });
});
