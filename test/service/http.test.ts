import assert from "node:assert/strict";
import { once } from "node:events";
import { access, readFile, stat } from "node:fs/promises";
import { request } from "node:http";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { readConnection } from "../../src/client/embedded/connectionFile.ts";
import { serve } from "../../src/service/serve.ts";
import { isAlive } from "../isAlive.ts";
import { fillDay } from "./fillDay.ts";
import {
  ended,
  programPipeline,
  started,
  startedService,
  untilCancelled,
  writePid,
} from "./startedService.ts";
import { TurnedClock } from "./turnedClock.ts";

const never = new AbortController().signal;

describe("the service over HTTP", () => {
  it("shows the org as the description has it, to every role", async () => {
    await using service = await startedService();
    for (const role of ["owner", "member", "viewer"] as const) {
      const key = await service.key(role);
      const reply = await service.fetch("/api/org", { headers: { "x-api-key": key.secret } });
      assert.equal(reply.status, 200);
      assert.deepEqual(await reply.json(), {
        "org-id": key.orgId,
        "org-name": "acme",
        tier: "free",
        limits: { "parallel-runs": 1, "runs-per-day": 50 },
        usage: { "runs-today": 0 },
        actor: key.keyId,
      });
    }
  });

  it("turns away no key, a wrong key, and a key with one letter changed", async () => {
    await using service = await startedService();
    const { secret } = await service.key();
    const changed = `${secret.slice(0, -1)}${secret.endsWith("A") ? "B" : "A"}`;
    for (const key of [undefined, "nonsense", changed]) {
      const reply = await service.fetch(
        "/api/org",
        key === undefined ? {} : { headers: { "x-api-key": key } },
      );
      assert.equal(reply.status, 401);
      assert.equal(((await reply.json()) as { error: { type: string } }).error.type, "unauthorized");
    }
  });

  it("runs a pipeline to its end, with its steps, and counts one", async () => {
    await using service = await startedService();
    const { client, keyId } = await service.member();
    await service.write("hello", programPipeline("console.log('hello')"));
    const run = await started(client, "hello");
    assert.equal(run.status, "running");
    assert.equal(run.actor, keyId);
    const end = await ended(client, run);
    assert.equal(end.status, "succeeded");
    assert.deepEqual(
      end.steps?.map(({ name, type, status }) => ({ name, type, status })),
      [{ name: "only", type: "cli", status: "succeeded" }],
    );
    assert.equal((await client.org(never)).usage.runsToday, 1);
  });

  it("tells why a run failed", async () => {
    await using service = await startedService();
    const { client } = await service.member();
    await service.write("broken", programPipeline("console.log('about to fail'); process.exit(3)"));
    const end = await ended(client, await started(client, "broken"));
    assert.equal(end.status, "failed");
    assert.match(end.reason ?? "", /only/);
    assert.match(end.steps?.[0]?.message ?? "", /exit(ed)? (with )?(code )?3[\s\S]*about to fail/);
  });

  it("answers 201 with a Location, and 429 with scope org for a second run", async () => {
    await using service = await startedService();
    const { secret, client } = await service.member();
    await service.write("long", programPipeline(untilCancelled));
    const start = () =>
      service.fetch("/api/runs", {
        method: "POST",
        headers: { "x-api-key": secret },
        body: JSON.stringify({ pipeline: "long" }),
      });
    const first = await start();
    assert.equal(first.status, 201);
    const { "run-id": runId } = (await first.json()) as { "run-id": string };
    assert.equal(first.headers.get("location"), `/api/runs/${runId}`);
    const second = await start();
    assert.equal(second.status, 429);
    const { error } = (await second.json()) as { error: { type: string; scope: string } };
    assert.equal(error.type, "too-many-runs");
    assert.equal(error.scope, "org");
    assert.equal(second.headers.get("retry-after"), null);
    assert.equal(second.headers.get("cache-control"), "no-store");
    assert.equal((await client.org(never)).usage.runsToday, 1);
  });

  it("refuses the 51st run of a day with the seconds to 00:00 UTC on its own clock", async () => {
    const clock = new TurnedClock("2026-03-04T22:46:39Z");
    await using service = await startedService({ clock });
    const { client, secret, orgId } = await service.member();
    await service.write("hello", programPipeline(""));
    await fillDay(service.data, 50, clock.now(), orgId);
    const reply = await service.fetch("/api/runs", {
      method: "POST",
      headers: { "x-api-key": secret, prefer: "wait=120" },
      body: JSON.stringify({ pipeline: "hello" }),
    });
    assert.equal(reply.status, 429);
    assert.equal(reply.headers.get("retry-after"), "4401");
    assert.equal(reply.headers.get("date"), "Wed, 04 Mar 2026 22:46:39 GMT");
    const { error } = (await reply.json()) as { error: { scope: string; message: string } };
    assert.equal(error.scope, "free-day");
    assert.match(error.message, /free-day.*4401/);
    assert.equal((await client.org(never)).usage.runsToday, 50);
  });

  it("hands the place to the one who waits, the moment the run before has ended", async () => {
    await using service = await startedService();
    const { client } = await service.member();
    await service.write("long", programPipeline(untilCancelled));
    await service.write("hello", programPipeline(""));
    const holder = await started(client, "long");
    const waiting = started(client, "hello", 120);
    await client.cancel(holder.runId, never);
    const next = await waiting;
    const before = await client.run(holder.runId, never);
    assert.equal(before.status, "cancelled");
    assert(Date.parse(next.createdAt) >= Date.parse(before.stoppedAt ?? ""));
    assert.equal((await ended(client, next)).status, "succeeded");
  });

  it("gives up a turn when its connection closes, which uses no run", async () => {
    await using service = await startedService();
    const { client } = await service.member();
    await service.write("long", programPipeline(untilCancelled));
    await service.write("hello", programPipeline(""));
    const holder = await started(client, "long");
    const leaving = new AbortController();
    const left = client.start(
      { pipeline: "hello" },
      { waitSeconds: 120, idempotencyKey: "left" },
      leaving.signal,
    );
    const stays = started(client, "long", 120);
    leaving.abort(new Error("left"));
    await assert.rejects(left, /left/);
    await client.cancel(holder.runId, never);
    const next = await stays;
    assert.equal(next.pipeline, "long");
    assert.equal((await client.org(never)).usage.runsToday, 2);
  });

  it("gives up a turn whose connection closes while the request is still being looked at", async () => {
    await using service = await startedService();
    const { client, secret } = await service.member();
    await service.write("long", programPipeline(untilCancelled));
    const holder = await started(client, "long");
    for (let turns = 0; turns < 40; turns++) {
      const body = JSON.stringify({ pipeline: "long" });
      const asked = request(`${service.url}/api/runs`, {
        method: "POST",
        headers: { "x-api-key": secret, prefer: "wait=120", "content-length": body.length },
      });
      asked.on("error", () => {});
      asked.end(body);
      await once(asked, "finish");
      // Closed a little later each time, so that it falls into every stage of the request.
      for (let turn = 0; turn < turns; turn++) await setImmediate();
      asked.destroy();
    }
    await client.cancel(holder.runId, never);
    await ended(client, holder);
    assert.deepEqual((await client.runs({ inWork: true }, never)).runs, []);
    assert.equal((await client.org(never)).usage.runsToday, 1);
  });

  it("keeps the place until the run's processes are gone", async () => {
    await using service = await startedService();
    const { client } = await service.member();
    await service.write(
      "stubborn",
      programPipeline(`process.on("SIGTERM", () => {}); ${writePid} ${untilCancelled}`),
    );
    const run = await started(client, "stubborn");
    const pid = await writtenPid(join(service.project.root, "pid"));
    assert.equal((await client.cancel(run.runId, never)).status, "cancelling");
    assert.equal((await client.cancel(run.runId, never)).status, "cancelling");
    const end = await ended(client, run);
    assert.equal(end.status, "cancelled");
    assert(!isAlive(pid));
    // Cancelling once more, after the end, is no error.
    assert.equal((await client.cancel(run.runId, never)).status, "cancelled");
  });

  it("stops a run at its time limit, and the first reason stays", async () => {
    const clock = new TurnedClock("2026-03-04T12:00:00Z");
    await using service = await startedService({ clock });
    const { client } = await service.member();
    await service.write("long", programPipeline(untilCancelled, "5s"));
    const run = await started(client, "long");
    assert.equal(run.timeLimitSeconds, 5);
    clock.turn(5_000);
    await client.cancel(run.runId, never);
    const end = await ended(client, run);
    assert.equal(end.status, "timed-out");
    assert.match(end.reason ?? "", /time limit of 5 s/);
  });

  it("takes a time limit of up to an hour from the request, and no more", async () => {
    await using service = await startedService();
    const { secret, client } = await service.member();
    await service.write("hello", programPipeline(""));
    const start = (seconds: unknown) =>
      service.fetch("/api/runs", {
        method: "POST",
        headers: { "x-api-key": secret },
        body: JSON.stringify({ pipeline: "hello", "time-limit-seconds": seconds }),
      });
    for (const wrong of [3601, 0, -1, 1.5, "60"]) {
      const reply = await start(wrong);
      assert.equal(reply.status, 400, String(wrong));
      assert.match(JSON.stringify(await reply.json()), /time-limit-seconds/);
    }
    const reply = await start(3600);
    assert.equal(reply.status, 201);
    const run = (await reply.json()) as { "run-id": string; "time-limit-seconds": number };
    assert.equal(run["time-limit-seconds"], 3600);
    await ended(client, { runId: run["run-id"] });
  });

  it("lets a viewer look and nothing else", async () => {
    await using service = await startedService();
    const { client } = await service.member();
    await service.write("long", programPipeline(untilCancelled));
    const run = await started(client, "long");
    const viewer = service.client((await service.key("viewer")).secret);
    assert.equal((await viewer.run(run.runId, never)).status, "running");
    const forbidden = { type: "forbidden" };
    await assert.rejects(viewer.cancel(run.runId, never), forbidden);
    await assert.rejects(started(viewer, "long"), forbidden);
    await assert.rejects(viewer.putProject("x", service.project.root, never), forbidden);
    assert.equal((await client.run(run.runId, never)).status, "running");
  });

  it("shows an org nothing of another's", async () => {
    await using service = await startedService();
    const { client } = await service.member();
    await service.write("hello", programPipeline(""));
    const run = await started(client, "hello");
    await ended(client, run);
    const other = service.client((await service.key("owner", "other")).secret);
    await assert.rejects(other.run(run.runId, never), { type: "not-found" });
    await assert.rejects(other.cancel(run.runId, never), { type: "not-found" });
    assert.deepEqual((await other.runs({}, never)).runs, []);
    assert.equal((await other.org(never)).usage.runsToday, 0);
    assert.deepEqual((await other.pipelines(undefined, never)).pipelines, []);
  });

  it("lists runs newest first, in pages, by status and by actor", async () => {
    await using service = await startedService();
    const { client } = await service.member();
    await service.write("hello", programPipeline(""));
    const ids: string[] = [];
    for (let count = 0; count < 3; count++) {
      const run = await started(client, "hello");
      await ended(client, run);
      ids.unshift(run.runId);
    }
    const first = await client.runs({ limit: 2 }, never);
    assert.deepEqual(
      first.runs.map(({ runId }) => runId),
      ids.slice(0, 2),
    );
    const second = await client.runs({ limit: 2, after: first.next ?? "" }, never);
    assert.deepEqual(
      second.runs.map(({ runId }) => runId),
      ids.slice(2),
    );
    assert.equal(second.next, undefined);
    assert.deepEqual((await client.runs({ inWork: true }, never)).runs, []);
    const other = service.client((await service.key()).secret);
    assert.equal((await other.runs({}, never)).runs.length, 3);
    assert.equal((await other.runs({ mine: true }, never)).runs.length, 0);
  });

  it("lists the pipelines, also a broken one with file, line and column", async () => {
    await using service = await startedService();
    const { client } = await service.member();
    await service.write("hello", programPipeline(""));
    await service.write(
      "broken",
      "resources:\n  shell: { type: clii }\nsteps:\n  - use: shell\n    run: true\n",
    );
    const { pipelines } = await client.pipelines(service.project.name, never);
    assert.deepEqual(
      pipelines.map(({ name }) => name),
      ["broken", "hello"],
    );
    assert.match(pipelines[0]?.problem ?? "", /^pipelines\/broken\.yaml:2:\d+: /);
    assert.deepEqual(pipelines[1]?.resourceTypes, ["cli"]);
    await assert.rejects(started(client, "broken"), {
      type: "invalid-request",
      message: /broken\.yaml:2:\d+/,
    });
  });

  it("names the nearest pipeline for a name that doesn't exist", async () => {
    await using service = await startedService();
    const { client } = await service.member();
    await service.write("nightly", programPipeline(""));
    await assert.rejects(
      started(client, "nighlty"),
      (error: { type: string; message: string; next: string }) => {
        assert.equal(error.type, "not-found");
        assert.match(`${error.message} ${error.next}`, /`nighlty`.*Did you mean `nightly`\?/);
        return true;
      },
    );
    assert.equal((await client.org(never)).usage.runsToday, 0);
  });

  it("tells what is wrong with a body that is not JSON, too large, or of the wrong shape", async () => {
    await using service = await startedService();
    const { secret } = await service.member();
    const post = (body: string) =>
      service.fetch("/api/runs", { method: "POST", headers: { "x-api-key": secret }, body });
    const statusAndText = async (body: string) => {
      const reply = await post(body);
      return `${reply.status} ${await reply.text()}`;
    };
    assert.match(await statusAndText("{"), /^400 .*not JSON/);
    assert.match(await statusAndText("{}"), /^400 .*`pipeline` is missing/);
    assert.match(await statusAndText('{"pipeline":7}'), /^400 .*`pipeline` should be a string/);
    assert.match(await statusAndText("[]"), /^400 /);
    assert.match(await statusAndText(`"${"x".repeat(70_000)}"`), /^413 .*payload-too-large/);
  });

  it("is not there for a rebound name or another site's page", async () => {
    await using service = await startedService();
    const { secret } = await service.key();
    const status = (headers: Record<string, string>) =>
      new Promise<number | undefined>((resolve, reject) => {
        const asked = request(
          `${service.url}/api/org`,
          { headers: { "x-api-key": secret, ...headers } },
          (reply) => {
            reply.resume();
            resolve(reply.statusCode);
          },
        );
        asked.on("error", reject).end();
      });
    assert.equal(await status({}), 200);
    assert.equal(await status({ host: "evil.example" }), 403);
    assert.equal(await status({ origin: "https://evil.example" }), 403);
  });

  it("tells every change by events, the org first", async () => {
    await using service = await startedService();
    const { client, secret } = await service.member();
    await service.write("hello", programPipeline(""));
    const reading = new AbortController();
    const reply = await service.fetch("/api/events", {
      headers: { "x-api-key": secret },
      signal: reading.signal,
    });
    assert.equal(reply.headers.get("content-type"), "text/event-stream");
    assert(reply.body !== null);
    let text = "";
    const read = async (until: RegExp) => {
      const decoder = new TextDecoder();
      for await (const chunk of reply.body ?? []) {
        text += decoder.decode(chunk, { stream: true });
        if (until.test(text)) return;
      }
    };
    const seen = read(/event: run\ndata: .*"status":"succeeded"/);
    await ended(client, await started(client, "hello"));
    await seen;
    reading.abort();
    assert.match(text, /^retry: \d+\n\nid: 1\nevent: org\ndata: .*"runs-today":0/);
    assert.match(text, /event: org\ndata: .*"runs-today":1/);
    assert.match(text, /event: run\ndata: .*"status":"running"/);
  });

  it("tells everyone at 00:00 UTC that the count has started again", async () => {
    const clock = new TurnedClock("2026-03-04T23:59:50Z");
    await using service = await startedService({ clock });
    const { orgId, secret } = await service.member();
    await fillDay(service.data, 3, clock.now(), orgId);
    const reading = new AbortController();
    const reply = await service.fetch("/api/events", {
      headers: { "x-api-key": secret },
      signal: reading.signal,
    });
    let text = "";
    const decoder = new TextDecoder();
    for await (const chunk of reply.body ?? []) {
      text += decoder.decode(chunk, { stream: true });
      if (text.includes('"runs-today":0')) break;
      if (text.includes('"runs-today":3')) clock.turn(10_000);
    }
    reading.abort();
    assert.match(text, /"runs-today":0/);
  });

  it("shows this machine's faces where it is, for this user's eyes only, and is gone when it stops", async () => {
    await using service = await startedService();
    const connection = await readConnection(service.data);
    assert.equal(connection?.url, service.url);
    assert.equal(connection?.pid, process.pid);
    if (process.platform !== "win32") {
      assert.equal((await stat(join(service.data, "service.json"))).mode & 0o777, 0o600);
    }
    const health = (await (await service.fetch("/healthz")).json()) as { instance: string };
    assert.equal(health.instance, connection?.instance);
    const own = service.client(connection?.token ?? "");
    const before = await own.org(never);
    await service.restart();
    const after = await readConnection(service.data);
    assert.notEqual(after?.token, connection?.token);
    assert.equal((await service.client(after?.token ?? "").org(never)).actor, before.actor);
    await assert.rejects(service.client(connection?.token ?? "").org(never), { type: "unauthorized" });
    await service.stop();
    await assert.rejects(access(join(service.data, "service.json")), { code: "ENOENT" });
  });

  it("serves a folder once", async () => {
    await using service = await startedService();
    const second = await serve({ folder: service.data, port: 0, runnerPath: "", env: {}, log: () => {} });
    assert.equal(second, "taken");
  });

  it("ends its runs when it stops, and finds them ended when it starts again", async () => {
    await using service = await startedService();
    const { client, secret } = await service.member();
    await service.write("long", programPipeline(`${writePid} ${untilCancelled}`));
    const run = await started(client, "long");
    const pid = await writtenPid(join(service.project.root, "pid"));
    await service.restart();
    assert(!isAlive(pid));
    const after = await service.client(secret).run(run.runId, never);
    assert.equal(after.status, "cancelled");
    assert.equal((await service.client(secret).org(never)).usage.runsToday, 1);
  });

  it("keeps no key: neither in the database nor in the log", async () => {
    await using service = await startedService();
    const { client, secret } = await service.member();
    await service.write("hello", programPipeline(""));
    await ended(client, await started(client, "hello"));
    const random = secret.slice(-43);
    assert(!service.logged.join("\n").includes(random));
    await service.stop();
    const files = await Promise.all(
      ["runs.db", "runs.db-wal"].map((name) => readFile(join(service.data, name), "latin1").catch(() => "")),
    );
    assert(!files.join("").includes(random));
  });
});

/** The process id that a step has written, once it is there. */
async function writtenPid(file: string): Promise<number> {
  for (;;) {
    const pid = Number(await readFile(file, "utf8").catch(() => ""));
    if (pid > 0) return pid;
  }
}
