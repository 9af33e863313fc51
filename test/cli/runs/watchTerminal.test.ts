import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
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
import { Screen } from "../screen.ts";
import { toolbox } from "../toolbox.ts";

/** What a terminal of this width shows of watching a service that answers its events so. */
async function watched(
  answerEvents: (response: ServerResponse) => void,
  { runs = [runOnWire()], width }: { readonly runs?: readonly unknown[]; readonly width?: number } = {},
) {
  await using tool = await toolbox();
  await using service = await LoopbackService.listen(({ path }, response) => {
    if (path === "/api/org") sendJson(response, 200, orgOnWire);
    else if (path.startsWith("/api/runs")) sendJson(response, 200, { runs });
    else answerEvents(response);
  });
  const env = { PIPELINE_BASE_URL: service.origin, PIPELINE_API_KEY: testKey };
  const { exitCode, stdout } = await onTerminal(tool, "runs list --watch", env, width);
  return { exitCode, stdout, screen: new Screen(400).write(stdout) };
}

describe("pipeline runs list --watch, on a terminal", () => {
  itOn("linux", "ends where the service tells of no events", async () => {
    const { exitCode, screen } = await watched((response) => void response.writeHead(404).end());
    assert.equal(exitCode, 4, screen.text);
    assert.match(screen.text.replace(/\s+/g, " "), /tell when runs change/);
    assert(screen.isCursorShown);
  });

  itOn("linux", "has whole columns at 80 characters, and all of them where they fit", async () => {
    const runs = [
      runOnWire({ "run-id": `run_${"1".repeat(26)}`, status: "cancelling", pipeline: "nightly-checkout" }),
      runOnWire({
        "run-id": `run_${"2".repeat(26)}`,
        actor: "key_2",
        project: "a-second-project",
        status: "succeeded",
        "stopped-at": "2026-03-03T11:00:00Z",
      }),
    ];
    const tableAt = async (width: number) => {
      const gone = (response: ServerResponse) => void response.writeHead(404).end();
      const { stdout } = await watched(gone, { runs, width });
      const lines = stripVTControlCharacters(stdout).split(/\r?\n/);
      const at = lines.findIndex((line) => line.includes("STATUS"));
      return lines.slice(at, at + 3).map((line) => line.trim());
    };
    const narrow = await tableAt(80);
    for (const line of narrow) {
      assert(line.length < 80, line);
      assert.doesNotMatch(line, /…$/);
    }
    assert.match(narrow[0] ?? "", /^ID +STATUS +PIPELINE +PROJECT +STARTED$/);
    assert.match(narrow[2] ?? "", /^run_1{26} +● cancelling +nightly… +\S+ +2026-\d\d-\d\d$/);
    const wide = await tableAt(140);
    assert.match(wide[0] ?? "", /STARTED +TOOK +BY$/);
    assert.match(wide[1] ?? "", / a-second-project .* another key$/);
    assert.match(wide[2] ?? "", / nightly-checkout .* you$/);
  });

  itOn(
    "linux",
    "names who started a run, and says below it why it failed, within 80 characters",
    async () => {
      const runs = [
        runOnWire({ "run-id": "r-2", actor: "key_2", "actor-name": "a\u001b[2Jda\u202e", status: "running" }),
        runOnWire({
          ...{ "run-id": "r-1", status: "failed", "stopped-at": "2026-03-03T11:00:00Z" },
          reason: `only: exited with 3, expected 0, ${"and so on ".repeat(10)}:\nthe output`,
        }),
      ];
      const gone = (response: ServerResponse) => void response.writeHead(404).end();
      const { stdout } = await watched(gone, { runs, width: 80 });
      const lines = stripVTControlCharacters(stdout).split(/\r?\n/);
      const at = lines.findIndex((line) => line.includes("STATUS"));
      const shown = lines.slice(at, at + 4).map((line) => line.trimEnd());
      assert.match(shown[1] ?? "", /^r-2 .* a\[2Jda$/);
      assert.match(shown[2] ?? "", /^r-1 .* you$/);
      assert.match(shown[3] ?? "", /^ {2}only: exited with 3, expected 0, and so on .*…$/);
      assert(!lines.some((line) => line.includes("the output") || line.length >= 80));
    },
  );

  itOn("linux", "ends when the key is refused while it watches", async () => {
    const { exitCode, screen } = await watched((response) => sendError(response, 401, "unauthorized"));
    assert.equal(exitCode, 3, screen.text);
    assert(screen.isCursorShown);
  });
});
