import assert from "node:assert/strict";
import { LoopbackService, orgOnWire, sendError, sendJson, testKey } from "../../client/loopbackService.ts";
import { toolbox } from "../toolbox.ts";

/** A service that tells of its runs what is given, and has nothing else of ours. */
async function service() {
  const runs: { "run-id": string; status: string; actor?: string }[] = [
    { "run-id": "r-3", status: "running", actor: "key_2" },
    { "run-id": "r-2", status: "warming up", actor: "key_1" },
    { "run-id": "r-1", status: "running" },
  ];
  const cancelled: string[] = [];
  const listening = await LoopbackService.listen(({ method, path }, response) => {
    if (path === "/api/org") return sendJson(response, 200, orgOnWire);
    const id = decodeURIComponent(/^\/api\/runs\/(.+)\/cancel$/.exec(path)?.[1] ?? "");
    if (id !== "") {
      cancelled.push(id);
      return sendJson(response, 200, { "run-id": id, status: "cancelled" });
    }
    if (path.startsWith("/api/runs?")) return sendJson(response, 200, { runs });
    if (path === "/api/runs" && method === "POST") {
      return sendJson(response, 201, { "run-id": "it's new", status: "queued", actor: "key_1" });
    }
    sendError(response, 404, "not-found", "…");
  });
  return Object.assign(listening, {
    cancelled,
    env: { PIPELINE_BASE_URL: listening.origin, PIPELINE_API_KEY: testKey },
  });
}

describe("the tool, with a service that tells only what is given of its runs", () => {
  it("lists them with what is told", async () => {
    await using tool = await toolbox();
    await using given = await service();
    const { exitCode, stdout } = await tool.call(["runs", "list"], given.env);
    assert.equal(exitCode, 0);
    const [tabs, more] = ["\t\t\t\t\t", "\t\t\t"];
    assert.equal(
      stdout,
      `r-3\trunning${tabs}key_2${more}\nr-2\twarming up${tabs}key_1${more}\nr-1\trunning${tabs}${more}`,
    );
    const json = await tool.call(["runs", "list", "--json"], given.env);
    assert.deepEqual(JSON.parse(json.stdout).runs[2], { "run-id": "r-1", status: "running" });
    const mine = await tool.call(["runs", "list", "--mine", "--in-work", "-q"], given.env);
    assert.deepEqual(mine.stdout.match(/^r-\d/gm), ["r-2"]);
  });

  it("tells a start as started, whose end can't be known: exit code 0", async () => {
    await using tool = await toolbox();
    await using given = await service();
    const detached = await tool.call(["run", "nightly", "--detach"], given.env);
    assert.deepEqual([detached.exitCode, detached.stdout], [0, "it's new nightly queued"]);
    const followed = await tool.call(["run", "nightly"], given.env);
    assert.deepEqual([followed.exitCode, followed.stdout], [0, "it's new nightly queued"]);
    assert.match(followed.stderr, /warning: nightly: 127\.0\.0\.1:\d+ doesn't report how it's new ends\.$/m);
    const json = await tool.call(["run", "nightly", "--json"], given.env);
    const { ok, runs, warnings } = JSON.parse(json.stdout);
    assert.deepEqual(
      [json.exitCode, ok, runs, warnings.length],
      [0, true, [{ "run-id": "it's new", status: "queued", actor: "key_1", pipeline: "nightly" }], 1],
    );
  });

  it("cancels with --mine what its key started, and names what it can't know of", async () => {
    await using tool = await toolbox();
    await using given = await service();
    const { exitCode, stdout, stderr } = await tool.call(["runs", "cancel", "--mine"], given.env);
    assert.deepEqual([exitCode, stdout], [0, "r-2 cancelled"]);
    assert.match(stderr, /warning: left alone, since the service doesn't tell who started it: r-1$/m);
    assert.deepEqual(given.cancelled, ["r-2"]);
  });

  it("tells who holds the slot as far as that is told", async () => {
    await using tool = await toolbox();
    await using given = await service();
    const { exitCode, stdout } = await tool.call(["org"], given.env);
    assert.equal(exitCode, 0);
    assert.match(stdout, /7 of 50 runs used today/);
    assert.match(
      stdout,
      /running r-3, started by another key\n.*warming up r-2, started by you\n.*running r-1\n/,
    );
    assert.doesNotMatch(stdout, /undefined|NaN|Invalid/);
  });
});
