import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { followLog } from "../../../src/client/follow/followLog.ts";
import { ServiceClient } from "../../../src/client/service/client.ts";
import { AbsentEndpoint } from "../../../src/client/service/replyErrors.ts";
import type { LogEntry } from "../../../src/contract/log.ts";
import { FakeClock } from "../../clock/fakeClock.ts";
import { CutLine } from "../../service/cutLine.ts";
import { programPipeline, started, startedService } from "../../service/startedService.ts";
import { CountedFetch, drive } from "../drive.ts";
import { type Asked, LoopbackService, sendError, sendJson, testKey } from "../loopbackService.ts";
import { Told } from "../told.ts";

const never = new AbortController().signal;
const logPath = "/api/runs/run_1/log";

function entry(sequence: number, text = `line ${sequence}\n`): string {
  const data = { sequence, at: "2026-03-03T10:00:00Z", "step-index": 0, stream: "stdout", text };
  return `id: ${sequence}\nevent: log\ndata: ${JSON.stringify(data)}\n\n`;
}

function end(status = "succeeded"): string {
  return `event: end\ndata: ${JSON.stringify({ "run-id": "run_1", status })}\n\n`;
}

function begin(response: ServerResponse, ...events: readonly string[]): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.write(["retry: 1000\n\n", ...events].join(""));
}

const silence = Symbol("silence");

/** A connection that stays open when it has told its events. */
function silentAfter(...events: readonly string[]) {
  return (response: ServerResponse) => {
    begin(response, ...events);
    return silence;
  };
}

/** Answers each request for the log with the next of some answers, the last of them again and again. */
async function logService(...answers: ((response: ServerResponse, asked: Asked) => unknown)[]) {
  const clock = new FakeClock();
  const service = await LoopbackService.listen(async (asked, response, gone) => {
    const answer = answers.length > 1 ? answers.shift() : answers[0];
    // What says nothing more waits for the client to leave.
    if (answer?.(response, asked) === silence) await service.hold(clock, 1e9, gone);
  });
  const counted = new CountedFetch();
  const told: LogEntry[] = [];
  return {
    service,
    clock,
    told,
    get sequences() {
      return told.map(({ sequence }) => sequence);
    },
    /** The places that the log was asked from, one for each request. */
    get positions() {
      return service.asked.map(({ headers }) => headers["last-event-id"]);
    },
    read: (options: Parameters<typeof followLog>[2] = { follow: true }) =>
      drive(
        followLog(
          service.client(clock, { fetch: counted.fetch }),
          "run_1",
          options,
          (each) => told.push(each),
          never,
        ),
        clock,
        service,
        counted,
      ),
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
  };
}

/** What a connection brings that breaks in the middle of an entry. */
function brokenAfter(...events: readonly string[]) {
  return (response: ServerResponse) => {
    begin(response, ...events);
    response.write(entry(99).slice(0, 20), () => response.destroy());
  };
}

describe("following a run's log", () => {
  it("tells the entries in their order and returns how the run ended", async () => {
    await using log = await logService((response) => begin(response, entry(1), entry(2), end("failed")));
    assert.deepEqual(await log.read(), { runId: "run_1", status: "failed" });
    assert.deepEqual(log.told, [
      { sequence: 1, at: "2026-03-03T10:00:00Z", stepIndex: 0, stream: "stdout", text: "line 1\n" },
      { sequence: 2, at: "2026-03-03T10:00:00Z", stepIndex: 0, stream: "stdout", text: "line 2\n" },
    ]);
    assert.equal(log.service.asked[0]?.path, logPath);
    assert.equal(log.service.asked[0]?.headers["last-event-id"], undefined);
    await log.service.until(() => log.service.left === 1);
    assert.equal(log.clock.alarms, 0);
  });

  it("begins behind an entry, where one is named", async () => {
    await using log = await logService((response) => begin(response, entry(8), end()));
    await log.read({ follow: true, after: 7 });
    assert.deepEqual(log.positions, ["7"]);
    assert.deepEqual(log.sequences, [8]);
  });

  it("goes on behind the last entry after a break, and tells none twice", async () => {
    const broken: string[] = [];
    await using log = await logService(
      brokenAfter(entry(1), entry(2)),
      brokenAfter(),
      (response) => sendJson(response, 503, {}),
      brokenAfter(entry(2), entry(3)),
      (response) => begin(response, entry(4), end()),
    );
    await log.read({ follow: true, onBroken: ({ type }) => broken.push(type) });
    assert.deepEqual(log.sequences, [1, 2, 3, 4]);
    assert.deepEqual(log.positions, [undefined, "2", "2", "2", "3"]);
    assert.deepEqual(broken, Array(4).fill("out-of-reach"));
  });

  it("breaks off a connection that has been silent for too long", async () => {
    await using log = await logService(silentAfter(entry(1)), (response) => begin(response, end()));
    await log.read();
    assert.ok(log.clock.monotonic() >= 45_000);
    assert.deepEqual(log.positions, [undefined, "1"]);
  });

  it("tells of a gap once", async () => {
    await using log = await logService((response) => begin(response, entry(1), entry(4), entry(5), end()));
    const gaps: number[][] = [];
    await log.read({ follow: true, onGap: (first, last) => gaps.push([first, last]) });
    assert.deepEqual(gaps, [[2, 3]]);
    assert.deepEqual(log.sequences, [1, 4, 5]);
  });

  it("goes on behind a gap that nobody asks for", async () => {
    await using log = await logService((response) => begin(response, entry(1), entry(4), end()));
    await log.read({ follow: true });
    assert.deepEqual(log.sequences, [1, 4]);
  });

  it("gives up on a service that stays away, after about a minute", async () => {
    await using log = await logService(brokenAfter(entry(1)), (response) => response.destroy());
    await assert.rejects(log.read(), { type: "out-of-reach" });
    assert.equal(log.service.asked.length, 11);
    assert.ok(log.clock.monotonic() > 45_000);
    assert.equal(log.clock.alarms, 0);
  });

  it("does not count breaks of connections that were good", async () => {
    let left = 30;
    const silentFor20Seconds = (response: ServerResponse) => {
      begin(response);
      void log.service.hold(log.clock, 20_000, never).then(() => {
        left -= 1;
        if (left > 0) response.destroy();
        else response.end(end());
      });
    };
    await using log = await logService(silentFor20Seconds);
    await log.read();
    assert.equal(log.service.asked.length, 30);
  });

  it("gives up on a service that breaks each connection off at once", async () => {
    await using log = await logService(brokenAfter());
    await assert.rejects(log.read(), { type: "out-of-reach" });
    assert.equal(log.service.asked.length, 11);
  });

  it("says at once what waiting can't mend", async () => {
    await using absent = await logService((response) => void response.writeHead(404).end());
    await assert.rejects(absent.read(), (error) => error instanceof AbsentEndpoint);
    await using removed = await logService((response) =>
      sendError(response, 404, "not-found", "It was removed."),
    );
    await assert.rejects(removed.read(), { type: "not-found", message: "It was removed." });
    await using revoked = await logService(brokenAfter(entry(1)), (response) =>
      sendError(response, 401, "unauthorized"),
    );
    await assert.rejects(revoked.read(), { type: "unauthorized" });
    await using foreign = await logService((response) => sendJson(response, 200, {}));
    await assert.rejects(foreign.read(), { type: "breaks-contract" });
    await using wrong = await logService((response) => begin(response, "event: log\ndata: {}\n\n"));
    await assert.rejects(wrong.read(), { type: "breaks-contract", message: /`sequence` is missing/ });
    for (const { service } of [absent, removed, foreign, wrong]) assert.equal(service.asked.length, 1);
  });

  it("takes nothing from a service that never answered for one that is restarting", async () => {
    const clock = new FakeClock();
    const gone = await LoopbackService.listen(() => undefined);
    const client = gone.client(clock);
    await gone[Symbol.asyncDispose]();
    const read = followLog(client, "run_1", { follow: true }, () => undefined, never);
    await assert.rejects(read, { type: "out-of-reach", message: /Nothing listens/ });
    assert.equal(clock.alarms, 0);
  });

  it("finds a service that came back elsewhere, with another key", async () => {
    await using elsewhere = await logService((response, { headers }) => {
      if (headers["x-api-key"] === "the-new-key") begin(response, entry(2), end());
      else sendError(response, 401, "unauthorized");
    });
    await using log = await logService(brokenAfter(entry(1)));
    const baseUrl = new URL("/", elsewhere.service.origin);
    const found = new ServiceClient({ baseUrl, apiKey: "the-new-key", clock: log.clock });
    const read = followLog(
      log.service.client(log.clock),
      "run_1",
      { follow: true, reconnect: async () => found },
      (each) => log.told.push(each),
      never,
    );
    await elsewhereAsked(log, elsewhere.service, 1);
    assert.equal((await read)?.status, "succeeded");
    assert.deepEqual(log.sequences, [1, 2]);
  });

  it("replaces an echo of the API key, and nothing else of what a program wrote", async () => {
    const colours = "\u001b[31mred\u001b[0m \u0007\r\n";
    await using log = await logService((response) =>
      begin(response, entry(1, `${colours}${testKey}`), end()),
    );
    await log.read();
    assert.equal(log.told[0]?.text, `${colours}(the API key)`);
  });

  it("stops with the signal, and leaves nothing behind", async () => {
    await using log = await logService((response) => begin(response, entry(1)));
    const stop = new AbortController();
    const read = followLog(
      log.service.client(log.clock),
      "run_1",
      { follow: true },
      () => stop.abort(new Error("enough")),
      stop.signal,
    );
    await assert.rejects(read, /enough/);
    await log.service.until(() => log.service.left === 1);
    assert.equal(log.clock.alarms, 0);
  });
});

describe("reading what there is of a run's log", () => {
  it("ends with what is there now", async () => {
    await using log = await logService((response) => begin(response, entry(1), end("running")));
    assert.deepEqual(await log.read({ follow: false }), { runId: "run_1", status: "running" });
    assert.equal(log.service.asked[0]?.path, `${logPath}?follow=false`);
    assert.deepEqual(log.sequences, [1]);
  });
});

describe("following the log of the embedded service", () => {
  it("loses and repeats nothing when the line is cut and the service restarts", async () => {
    await using service = await startedService();
    const { client, secret } = await service.member();
    let isCut = false;
    await using line = await CutLine.lay(() => (isCut ? undefined : service.url));
    await service.write("talk", programPipeline(saysOnDemand(3)));
    const { runId } = await started(client, "talk");
    const told = new Told<LogEntry>();
    const broken = new Told<unknown>();
    const through = new ServiceClient({ baseUrl: new URL(line.origin), apiKey: secret, random: () => 0.99 });
    const followed = followLog(
      through,
      runId,
      { follow: true, onBroken: broken.tell },
      (each) => told.tell(each),
      never,
    );
    const say = (line: number) => writeFile(join(service.project.root, `say-${line}`), "");
    await say(1);
    await untilText(told, "line 1\n");
    isCut = true;
    line.cut();
    await say(2);
    await broken.atLeast(1);
    isCut = false;
    await untilText(told, "line 2\n");
    await service.restart();
    assert.equal((await followed)?.status, "cancelled");
    const all: LogEntry[] = [];
    await followLog(service.client(secret), runId, { follow: false }, (each) => all.push(each), never);
    assert.deepEqual(told.all, all);
    assert.deepEqual(
      all.map(({ sequence }) => sequence),
      all.map((_, index) => index + 1),
    );
  });

  it("reads what there is of an active run, and goes no further", async () => {
    await using service = await startedService();
    const { client } = await service.member();
    await service.write("talk", programPipeline(saysOnDemand(2)));
    const { runId } = await started(client, "talk");
    const told = new Told<LogEntry>();
    const stop = new AbortController();
    const followed = followLog(client, runId, { follow: true }, told.tell, stop.signal);
    await writeFile(join(service.project.root, "say-1"), "");
    await untilText(told, "line 1\n");
    const all: LogEntry[] = [];
    const end = await followLog(client, runId, { follow: false }, (each) => all.push(each), never);
    assert.deepEqual(end, { runId, status: "running" });
    assert.equal(all.at(-1)?.text, "line 1\n");
    stop.abort(new Error("enough"));
    await assert.rejects(followed, /enough/);
  });

  it("is read no further while its reader is busy, which is no silence of the service", async () => {
    const clock = new FakeClock();
    let sent = 0;
    async function* endless(signal: AbortSignal) {
      for (;;) {
        signal.throwIfAborted();
        yield Buffer.from(entry(++sent, "x".repeat(100_000)));
      }
    }
    const client = new ServiceClient({
      baseUrl: new URL("http://127.0.0.1:9/"),
      apiKey: testKey,
      clock,
      fetch: async (_, { signal }) => ({
        status: 200,
        headers: { get: (name) => (name === "content-type" ? "text/event-stream" : null) },
        body: endless(signal),
      }),
    });
    const stop = new AbortController();
    const busy = Promise.withResolvers<void>();
    const came = Promise.withResolvers<void>();
    const told: number[] = [];
    const reading = followLog(
      client,
      "run_1",
      { follow: true },
      async ({ sequence }) => {
        told.push(sequence);
        came.resolve();
        if (sequence === 3) stop.abort(new Error("enough"));
        else await busy.promise;
      },
      stop.signal,
    );
    await came.promise;
    clock.advance(3_600_000);
    for (let count = 0; count < 100; count++) await turn();
    assert.deepEqual([told, sent], [[1], 1]);
    busy.resolve();
    await assert.rejects(reading, /enough/);
    assert.deepEqual(told, [1, 2, 3]);
  });
});

/** A program that says a line each time it finds a file of the next number, and ends at the one that is asked for. */
function saysOnDemand(count: number): string {
  return `const fs = require("node:fs"); let n = 1; const look = () => {
    if (!fs.existsSync("say-" + n)) return void setTimeout(look, 5);
    console.log("line " + n); n += 1; if (n <= ${count}) look(); }; look();`;
}

async function untilText(told: Told<LogEntry>, text: string): Promise<void> {
  for (let seen = 1; ; seen += 1) {
    const all = await told.atLeast(seen);
    if (all.some((each) => each.text === text)) return;
  }
}

/** Lets the pauses pass until a service was asked so often. */
async function elsewhereAsked(
  { clock }: { readonly clock: FakeClock },
  service: LoopbackService,
  count: number,
): Promise<void> {
  for (; service.asked.length < count; await turn()) if (clock.alarms === 1) clock.advance(1000);
}
