import assert from "node:assert/strict";
import { once } from "node:events";
import { LoopbackService, runOnWire, sendError, sendJson, testKey } from "../../client/loopbackService.ts";
import { toolbox } from "../toolbox.ts";

/** What `runs log run_1` makes of these texts as the log's entries. */
async function printed(
  texts: readonly string[],
  args: readonly string[] = [],
  env: Record<string, string> = {},
) {
  await using tool = await toolbox();
  await using service = await LoopbackService.listen(({ path }, response) => {
    if (!path.startsWith("/api/runs/run_1/log")) return sendJson(response, 200, runOnWire());
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const [index, text] of texts.entries()) {
      const at = "2026-03-03T10:00:00Z";
      const entry = { sequence: index + 1, at, "step-index": 0, stream: "stdout", text };
      response.write(`id: ${index + 1}\nevent: log\ndata: ${JSON.stringify(entry)}\n\n`);
    }
    response.end(`event: end\ndata: ${JSON.stringify({ "run-id": "run_1", status: "succeeded" })}\n\n`);
  });
  const named = { PIPELINE_BASE_URL: service.origin, PIPELINE_API_KEY: testKey };
  return await tool.call(["runs", "log", "run_1", ...args], { ...named, ...env });
}

describe("pipeline runs log, of whatever a service tells", () => {
  it("prints the last lines of an entry that has very many", async () => {
    const { exitCode, stdout, stderr } = await printed(
      [`${"\n".repeat(200_000)}one\ntwo\n`],
      ["--tail", "1"],
    );
    assert.equal(stderr, "");
    assert.equal(stdout, "two");
    assert.equal(exitCode, 0);
    const all = await printed([`${"\n".repeat(200_000)}one\n`], ["--tail", "500000"]);
    assert.equal(all.stderr, "");
    assert.equal(all.stdout, `${"\n".repeat(200_000)}one`);
  });

  it("never prints the API key, however the service takes it apart", async () => {
    const [begin, rest] = [testKey.slice(0, 8), testKey.slice(8)];
    const apart = [`${begin}\0${rest}\n`, begin, `${rest}\n`, `${begin}\u001b[31m${rest}\u001b[0m\n`];
    for (const FORCE_COLOR of ["0", "1"]) {
      const { stdout } = await printed(apart, [], { FORCE_COLOR });
      assert.equal(stdout, Array.from({ length: 3 }, () => "(the API key)").join("\n"));
    }
  });

  it("finds nothing in a hidden API key, and gives up on a pattern that would never end", async () => {
    const hidden = await printed([`${testKey}\n`], ["--grep", testKey.slice(0, 8)]);
    assert.deepEqual([hidden.exitCode, hidden.stdout], [0, ""]);
    const endless = await printed([`${"a".repeat(100)}\n`], ["--grep", "/^(a|a)*b$/"]);
    assert.equal(endless.exitCode, 2);
    assert.match(endless.stderr, /--grep: the pattern .* took longer than 1 s on this text/);
  });

  it("searches what logs there are of a pipeline's runs, where others were removed or have none", async () => {
    await using tool = await toolbox();
    await using service = await LoopbackService.listen(({ path }, response) => {
      const id = /^\/api\/runs\/(r-\d)\/log/.exec(path)?.[1];
      const runs = ["r-3", "r-2", "r-1"].map((each) => runOnWire({ "run-id": each, pipeline: "nightly" }));
      if (id === undefined)
        return sendJson(response, 200, path.startsWith("/api/runs?") ? { runs } : runs[0]);
      if (id === "r-2") return sendError(response, 404, "not-found");
      response.writeHead(200, { "content-type": "text/event-stream" });
      const entry = {
        sequence: 1,
        at: "2026-03-03T10:00:00Z",
        "step-index": 0,
        stream: "stdout",
        text: "it",
      };
      response.end(
        `event: log\ndata: ${JSON.stringify(entry)}\n\nevent: end\ndata: {"run-id":"${id}","status":"failed"}\n\n`,
      );
    });
    const env = { PIPELINE_BASE_URL: service.origin, PIPELINE_API_KEY: testKey };
    const { exitCode, stdout, stderr } = await tool.call(
      ["runs", "log", "--pipeline", "nightly", "--grep", "it"],
      env,
    );
    assert.deepEqual([exitCode, stdout, stderr], [0, "r-3\tit\nr-1\tit", "1 log was removed."]);
  });

  it("makes one JSON object of no log without an end, and says what prints it", async () => {
    await using tool = await toolbox();
    const text = "x".repeat(100_000);
    let sent = 0;
    await using service = await LoopbackService.listen(async ({ path }, response, gone) => {
      if (!path.startsWith("/api/runs/run_1/log")) return sendJson(response, 200, runOnWire());
      response.writeHead(200, { "content-type": "text/event-stream" });
      while (!gone.aborted) {
        const entry = {
          sequence: ++sent,
          at: "2026-03-03T10:00:00Z",
          "step-index": 0,
          stream: "stdout",
          text,
        };
        const data = `event: log\ndata: ${JSON.stringify(entry)}\n\n`;
        if (!response.write(data)) await once(response, "drain", { signal: gone }).catch(() => undefined);
      }
    });
    const named = { PIPELINE_BASE_URL: service.origin, PIPELINE_API_KEY: testKey };
    const { exitCode, stdout } = await tool.call(["runs", "log", "run_1", "--json"], named);
    assert.equal(exitCode, 2);
    const { ok, error } = JSON.parse(stdout);
    assert.deepEqual([ok, error.type], [false, "payload-too-large"]);
    assert.match(error.message, /longer than the 64 MiB.*`--ndjson` without `--tail`/);
    assert(sent < 2_000, `${sent} entries were read`);
  });
});
