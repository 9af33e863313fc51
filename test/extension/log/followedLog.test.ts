import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { ServiceClient } from "../../../src/client/service/client.ts";
import { PipelineError } from "../../../src/contract/errors.ts";
import { fromFailedStep } from "../../../src/contract/fromStep.ts";
import { FollowedLog, type FollowedLogDeps } from "../../../src/extension/log/followedLog.ts";
import { systemClock } from "../../../src/machine/clock.ts";
import { LoopbackService, orgOnWire, runOnWire, sendError, sendJson } from "../../client/loopbackService.ts";
import { FakeClock } from "../../clock/fakeClock.ts";
import { ended, programPipeline, started, startedService } from "../../service/startedService.ts";

/** A log as the editor follows it: each change is read at once. */
function followed(runId: string, deps: Partial<FollowedLogDeps> & Pick<FollowedLogDeps, "connect">) {
  const watchers = new Set<() => void>();
  let text = "";
  const log: FollowedLog = new FollowedLog(runId, {
    origin: () => "http://service.test",
    clock: systemClock,
    timeText: (instant) => instant,
    resumeAt: async () => undefined,
    onChange: () => {
      text = Buffer.from(log.snapshot().bytes).toString();
      for (const watcher of [...watchers]) watcher();
    },
    ...deps,
  });
  return Object.assign(log, {
    text: () => text,
    /** Resolves as soon as the document says this. */
    until: async (pattern: RegExp) => {
      while (!pattern.test(text)) {
        await new Promise<void>((resolve) => {
          const look = () => {
            watchers.delete(look);
            resolve();
          };
          watchers.add(look);
        });
      }
    },
    [Symbol.dispose]: () => log.dispose(),
  });
}

const untilAsked = (round: number) =>
  `const wait${round} = setInterval(() => { if (require('node:fs').existsSync('go-${round}')) { clearInterval(wait${round}); next(); } }, 20);`;

describe("a run's log that is followed", () => {
  it("grows while the run is active, and begins with the failed step once it has failed", async () => {
    await using service = await startedService();
    const { client } = await service.member();
    await service.write(
      "lamps",
      programPipeline(
        `console.log('first'); const next = () => { console.error('src/a.js:1:2: too few'); process.exit(3); }; ${untilAsked(1)}`,
      ),
    );
    const run = await started(client, "lamps");
    using log = followed(run.runId, {
      connect: async () => client,
      resumeAt: async (failed) => fromFailedStep(failed),
    });
    await log.until(/^first$/m);
    assert.match(log.text(), /^● lamps running$/m);
    await log.until(/^● lamps running[\s\S]*^● only · cli · running$/m);
    await writeFile(`${service.project.root}/go-1`, "");
    await log.until(/^✗ lamps failed/m);
    assert.match(
      log.text(),
      /^✗ lamps failed[\s\S]*^✗ Failed step: only[\s\S]*^ {2}exited with 3[\s\S]*^ {2}Run From Failed Step[\s\S]*^✗ only · cli · failed/m,
    );
    assert.match(log.text(), /by you$/m);
  });

  it("goes on over a restart of the service, at another address and with another key", async () => {
    await using service = await startedService();
    const { client, secret } = await service.member();
    await service.write("lamps", programPipeline("console.log('first'); setTimeout(() => {}, 1e6)"));
    const run = await started(client, "lamps");
    using log = followed(run.runId, { connect: async () => service.client(secret) });
    await log.until(/^first$/m);
    await service.restart();
    await log.until(/^. lamps (?!running)/m);
    assert.equal(log.text().match(/^first$/gm)?.length, 1);
  });

  it("comes to its end when the run ended while the service, which has another key now, was away", async () => {
    let key = "plk_first";
    let streams = 0;
    await using service = await LoopbackService.listen((asked, response) => {
      if (asked.headers["x-api-key"] !== key) return sendError(response, 401, "unauthorized");
      if (asked.path === "/api/org") return sendJson(response, 200, orgOnWire);
      const end = { status: "lost", "stopped-at": "2026-03-03T10:00:09Z" };
      if (!asked.path.includes("/log")) return sendJson(response, 200, runOnWire(streams > 1 ? end : {}));
      streams += 1;
      response.writeHead(200, { "content-type": "text/event-stream" });
      if (streams > 1) {
        response.end(`event: end\ndata: ${JSON.stringify({ "run-id": "run_1", status: "lost" })}\n\n`);
        return undefined;
      }
      const at = "2026-03-03T10:00:00Z";
      const entry = { sequence: 1, "step-index": 0, stream: "stdout", at, text: "first\n" };
      response.write(`id: 1\nevent: log\ndata: ${JSON.stringify(entry)}\n\n`, () => {
        key = "plk_second";
        response.destroy();
      });
      return undefined;
    });
    using log = followed("run_1", {
      connect: async () =>
        new ServiceClient({ baseUrl: new URL(service.origin), apiKey: key, keyOfNow: async () => key }),
    });
    await log.until(/ lost/m);
    assert.match(log.text(), /^first$/m);
    assert.doesNotMatch(log.text(), /can't be read/);
  });

  it("asks no other service for the run when the window uses another by now, and goes on once it doesn't", async () => {
    let breakStream = () => {};
    await using service = await LoopbackService.listen((asked, response) => {
      if (asked.path === "/api/org") return sendJson(response, 200, orgOnWire);
      if (!asked.path.includes("/log")) return sendJson(response, 200, runOnWire());
      const at = "2026-03-03T10:00:00Z";
      const isAgain = asked.headers["last-event-id"] === "1" || asked.path.includes("after=1");
      const [sequence, text] = isAgain ? [2, "second\n"] : [1, "first\n"];
      const entry = { sequence, "step-index": 0, stream: "stdout", at, text };
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(`id: ${sequence}\nevent: log\ndata: ${JSON.stringify(entry)}\n\n`);
      breakStream = () => response.destroy();
      return undefined;
    });
    await using other = await LoopbackService.listen((_, response) => sendError(response, 404, "not-found"));
    let used = service;
    using log = followed("run_1", {
      connect: async () => used.client(systemClock),
      origin: () => used.origin,
    });
    await log.until(/^first$/m);
    used = other;
    breakStream();
    await log.until(/can't be read right now: This window now uses another service/);
    assert.deepEqual(other.asked, []);
    used = service;
    log.retryNow();
    await log.until(/^second$/m);
    assert.doesNotMatch(log.text(), /can't be read/);
    assert.deepEqual(other.asked, []);
  });

  it("ends the stream of the service when the document is closed", async () => {
    let streams = 0;
    await using service = await LoopbackService.listen((asked, response, gone) => {
      if (asked.path === "/api/org") return sendJson(response, 200, orgOnWire);
      if (!asked.path.includes("/log")) return sendJson(response, 200, runOnWire());
      streams += 1;
      gone.addEventListener("abort", () => (streams -= 1));
      response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
      return undefined;
    });
    const log = followed("run_1", { connect: async () => service.client(systemClock) });
    await log.ready;
    assert.equal(streams, 1);
    log.dispose();
    await service.until(() => streams === 0);
  });

  it("says what is wrong with the service, and shows the log once it is there", async () => {
    await using service = await startedService();
    const { client } = await service.member();
    await service.write("lamps", programPipeline("console.log('first')"));
    const run = await started(client, "lamps");
    await ended(client, run);
    let isAway = true;
    using log = followed(run.runId, {
      connect: async () => {
        if (isAway) throw new PipelineError("out-of-reach", "Nobody answers.", { next: "Look there." });
        return client;
      },
    });
    await log.until(
      /^The log can't be read right now: Nobody answers\. Look there\. Retrying automatically\.$/m,
    );
    await log.ready;
    isAway = false;
    log.retryNow();
    await log.until(/^first$/m);
    assert.doesNotMatch(log.text(), /can't be read/);
  });

  it("asks for nothing more while a key is missing, until there is another one", async () => {
    let asked = 0;
    const clock = new FakeClock();
    using log = followed("run_1", {
      clock,
      connect: async () => {
        asked += 1;
        throw new PipelineError("unauthorized", "There is no API key.");
      },
    });
    await log.ready;
    clock.advance(3_600_000);
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(asked, 1);
    log.retryNow();
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(asked, 2);
  });

  it("does not try again what can't be had", async () => {
    await using service = await LoopbackService.listen((_, response) =>
      sendError(response, 404, "not-found", "There is no such run."),
    );
    using log = followed("run_1", { connect: async () => service.client(systemClock) });
    await log.ready;
    const asked = () => service.asked.filter(({ path }) => path.startsWith("/api/runs")).length;
    log.retryNow();
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(asked(), 1);
    assert.match(
      Buffer.from(log.snapshot().bytes).toString(),
      /^The log can't be shown: There is no such run\./,
    );
  });
});
