import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
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
import { Screen } from "../screen.ts";
import { toolbox } from "../toolbox.ts";

/** What a terminal shows of watching a service that answers its events so. */
async function watched(answerEvents: (response: ServerResponse) => void) {
  await using tool = await toolbox();
  await using service = await LoopbackService.listen(({ path }, response) => {
    if (path === "/api/org") sendJson(response, 200, orgOnWire);
    else if (path.startsWith("/api/runs")) sendJson(response, 200, { runs: [runOnWire()] });
    else answerEvents(response);
  });
  const { exitCode, stdout } = await onTerminal(tool, "runs list --watch", {
    PIPELINE_BASE_URL: service.origin,
    PIPELINE_API_KEY: testKey,
  });
  return { exitCode, stdout, screen: new Screen(400).write(stdout) };
}

describe("pipeline runs list --watch, on a terminal", function () {
  this.timeout(30_000);

  itOn("linux", "ends where the service tells of no events", async () => {
    const { exitCode, screen } = await watched((response) => void response.writeHead(404).end());
    assert.equal(exitCode, 4, screen.text);
    assert.match(screen.text.replace(/\s+/g, " "), /tell when runs change/);
    assert(screen.isCursorShown);
  });

  itOn("linux", "ends when the key is refused while it watches", async () => {
    const { exitCode, screen } = await watched((response) => sendError(response, 401, "unauthorized"));
    assert.equal(exitCode, 3, screen.text);
    assert(screen.isCursorShown);
  });
});
