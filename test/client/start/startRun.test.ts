import assert from "node:assert/strict";
import { setImmediate as turn } from "node:timers/promises";
import { AbsentEndpoint, LostStart } from "../../../src/client/service/replyErrors.ts";
import { type StartDeps, type StartOutcome, startRun } from "../../../src/client/start/startRun.ts";
import { PipelineError } from "../../../src/contract/errors.ts";
import type { Run } from "../../../src/contract/run.ts";
import { FakeClock } from "../../clock/fakeClock.ts";
import { CountedFetch, drive } from "../drive.ts";
import {
  type Answer,
  type Asked,
  LoopbackService,
  orgOnWire,
  runOnWire,
  sendError,
  sendJson,
  testKey,
} from "../loopbackService.ts";

const wish = { pipeline: "nightly", project: "lamps" };
const refusedByOrg = { error: { type: "too-many-runs", message: "a run is in work", scope: "org" } };
const refusedByDay = { error: { type: "too-many-runs", message: "all used", scope: "free-day" } };

function heldSeconds(asked: Asked | undefined): number {
  return Number(/^wait=(\d+)$/.exec(String(asked?.headers["prefer"] ?? "wait=0"))?.[1]);
}

/** A run that was created just now. An older one can't be of this request. */
const newRun = (others: Readonly<Record<string, unknown>> = {}) =>
  runOnWire({ "created-at": new Date().toISOString(), ...others });

/** Whether a request is the start itself, and not a question about its run. */
function isWish({ path, body }: Asked): boolean {
  return path === "/api/runs" && JSON.parse(body).pipeline === "nightly";
}

/** One start on a fake clock against a service that answers as told. */
class Scene implements AsyncDisposable {
  readonly clock = new FakeClock();
  readonly counted = new CountedFetch();
  readonly secondsTold: number[] = [];
  readonly askedAt: number[] = [];
  readonly service: LoopbackService;

  static async of(
    answer: (scene: Scene, ...told: Parameters<Answer>) => void | Promise<void>,
  ): Promise<Scene> {
    const service = await LoopbackService.listen((...told) => {
      scene.askedAt.push(scene.clock.monotonic());
      return answer(scene, ...told);
    });
    const scene = new Scene(service);
    return scene;
  }

  private constructor(service: LoopbackService) {
    this.service = service;
  }

  start(
    others: Partial<StartDeps> & { random?: () => number; signal?: AbortSignal } = {},
  ): Promise<StartOutcome> {
    const { random = () => 0.5, signal = new AbortController().signal, ...deps } = others;
    const client = this.service.client(this.clock, { fetch: this.counted.fetch, random });
    return startRun(wish, { client, onWaiting: (left) => this.secondsTold.push(left), ...deps }, signal);
  }

  drive<T>(promise: Promise<T>): Promise<T> {
    return drive(promise, this.clock, this.service, this.counted);
  }

  get pauses(): number[] {
    return this.askedAt.slice(1).map((at, index) => at - (this.askedAt[index] ?? 0));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.service[Symbol.asyncDispose]();
    assert.equal(this.clock.alarms, 0, "no timer is left");
    assert.equal(this.counted.busy, 0, "no request is left");
  }
}

/** A service that keeps a refused start in its queue for as long as the client prefers. */
async function holdThenRefuse(scene: Scene, ...[asked, response, gone]: Parameters<Answer>): Promise<void> {
  const seconds = heldSeconds(asked);
  if (seconds > 0) await scene.service.hold(scene.clock, seconds * 1000, gone);
  if (!gone.aborted) sendJson(response, 429, refusedByOrg);
}

describe("starting a run", () => {
  it("takes one request when the slot is free, and tells of no wait", async () => {
    await using scene = await Scene.of((_, _asked, response) => sendJson(response, 201, runOnWire()));
    const outcome = await scene.start();
    assert.equal(outcome.kind === "started" && outcome.run.runId, "run_1");
    assert.deepEqual(scene.secondsTold, []);
    const [asked] = scene.service.asked;
    assert.equal(scene.service.asked.length, 1);
    assert.equal(asked?.method, "POST");
    assert.equal(asked.path, "/api/runs");
    assert.equal(asked.headers["x-api-key"], testKey);
    assert.equal(asked.headers["prefer"], undefined);
    assert.deepEqual(JSON.parse(asked.body), { pipeline: "nightly", project: "lamps" });
  });

  describe("while another run holds the slot", () => {
    it("waits 120 s in the service's queue with two requests, and is then refused", async () => {
      await using scene = await Scene.of(holdThenRefuse);
      const outcome = await scene.drive(scene.start());
      assert.deepEqual(outcome, { kind: "refused", refusal: { scope: "org" }, waitedSeconds: 120 });
      assert.deepEqual(scene.service.asked.map(heldSeconds), [0, 120]);
      assert.equal(scene.clock.monotonic(), 120_000);
    });

    it("tells the seconds left, each once, from 120 down to 1", async () => {
      await using scene = await Scene.of(holdThenRefuse);
      await scene.drive(scene.start());
      assert.deepEqual(
        scene.secondsTold,
        Array.from({ length: 120 }, (_, index) => 120 - index),
      );
    });

    it("starts in the moment that the service grants the slot", async () => {
      await using scene = await Scene.of(async (scene, asked, response, gone) => {
        if (heldSeconds(asked) === 0) return sendJson(response, 429, refusedByOrg);
        await scene.service.hold(scene.clock, 41_500, gone);
        sendJson(response, 201, runOnWire());
      });
      const outcome = await scene.drive(scene.start());
      assert.equal(outcome.kind, "started");
      assert.equal(scene.clock.monotonic(), 41_500);
      assert.equal(scene.secondsTold.at(-1), 79);
    });

    it("tells the place in the queue while it waits, by the start request's own key", async () => {
      const places: string[] = [];
      await using scene = await Scene.of(async (scene, asked, response, gone) => {
        if (asked.path !== "/api/queue") return holdThenRefuse(scene, asked, response, gone);
        response.writeHead(200, { "content-type": "text/event-stream" });
        for (const [waiting, place] of [
          [3, 2],
          [3, 1],
          [1, 1],
        ]) {
          response.write(`event: queue\ndata: ${JSON.stringify({ waiting, place })}\n\n`);
        }
        // A stream that breaks off is opened again.
        response.end();
      });
      await scene.drive(
        scene.start({ onPlace: (told) => places.push(told ? `${told.place} of ${told.waiting}` : "alone") }),
      );
      assert.deepEqual(places.slice(0, 3), ["2 of 3", "1 of 3", "alone"]);
      const keys = scene.service.asked.map(({ headers }) => headers["idempotency-key"]);
      assert.equal(new Set(keys).size, 1);
    });

    it("asks a service without the queue's endpoint once, and waits on without", async () => {
      const places: unknown[] = [];
      await using scene = await Scene.of(async (scene, asked, response, gone) => {
        if (asked.path === "/api/queue") return sendError(response, 404, "not-found");
        return holdThenRefuse(scene, asked, response, gone);
      });
      const outcome = await scene.drive(scene.start({ onPlace: (place) => places.push(place) }));
      assert.deepEqual(outcome, { kind: "refused", refusal: { scope: "org" }, waitedSeconds: 120 });
      assert.deepEqual(places, []);
      assert.equal(scene.service.asked.filter(({ path }) => path === "/api/queue").length, 1);
    });

    for (const [what, status, parallelRuns, waited] of [
      ["refuses at once a step of the run that holds the only slot", "running", 1, 0],
      ["waits as a step of a run that has ended", "succeeded", 1, 120],
      ["waits as a step where another slot may become free", "running", 2, 120],
    ] as const) {
      it(what, async () => {
        await using scene = await Scene.of(async (scene, asked, response, gone) => {
          if (asked.path === "/api/org")
            return sendJson(response, 200, {
              ...orgOnWire,
              limits: { "parallel-runs": parallelRuns, "runs-per-day": 50 },
            });
          if (asked.path !== "/api/runs/run_own") return holdThenRefuse(scene, asked, response, gone);
          sendJson(response, 200, runOnWire({ "run-id": "run_own", status }));
        });
        const outcome = await scene.drive(scene.start({ ownRunId: "run_own" }));
        const refused = { kind: "refused", refusal: { scope: "org" }, waitedSeconds: waited };
        assert.deepEqual(outcome, waited === 0 ? { ...refused, ownRunId: "run_own" } : refused);
      });
    }

    it("waits as long as the caller's patience says", async () => {
      await using scene = await Scene.of(holdThenRefuse);
      const outcome = await scene.drive(scene.start({ waitSeconds: 5 }));
      assert.deepEqual(outcome, { kind: "refused", refusal: { scope: "org" }, waitedSeconds: 5 });
      assert.deepEqual(scene.secondsTold, [5, 4, 3, 2, 1]);
    });

    it("takes the first answer when there is no patience", async () => {
      await using scene = await Scene.of(holdThenRefuse);
      const outcome = await scene.start({ waitSeconds: 0 });
      assert.deepEqual(outcome, { kind: "refused", refusal: { scope: "org" }, waitedSeconds: 0 });
      assert.equal(scene.service.asked.length, 1);
      assert.deepEqual(scene.secondsTold, []);
    });
  });

  describe("by a service that answers at once", () => {
    const refuse = (_: Scene, ...[_asked, response]: Parameters<Answer>): void =>
      sendJson(response, 429, refusedByOrg);

    for (const chance of [0, 0.5, 0.999]) {
      it(`asks again after growing pauses of 1 s to 5 s until 120 s have passed (chance ${chance})`, async () => {
        await using scene = await Scene.of(refuse);
        const outcome = await scene.drive(scene.start({ random: () => chance }));
        assert.deepEqual(outcome, { kind: "refused", refusal: { scope: "org" }, waitedSeconds: 120 });
        assert.equal(scene.clock.monotonic(), 120_000);
        const [first, ...others] = scene.pauses;
        assert.equal(first, 0, "the second attempt enters the queue at once");
        const waits = others.slice(0, -1);
        for (const pause of waits) assert.ok(pause >= 1000 && pause <= 5000, `a pause of ${pause} ms`);
        assert.deepEqual(
          waits,
          waits.toSorted((one, other) => one - other),
          "pauses grow",
        );
        assert.ok(scene.askedAt.length <= 42, `${scene.askedAt.length} requests`);
        assert.equal(scene.askedAt.at(-1), 120_000, "and once more when the time is over");
      });
    }

    it("asks for what is left of the wait each time", async () => {
      await using scene = await Scene.of(refuse);
      await scene.drive(scene.start());
      assert.deepEqual(
        scene.service.asked.map(heldSeconds),
        scene.askedAt.map((at, index) => (index === 0 ? 0 : Math.round((120_000 - at) / 1000))),
      );
    });

    it("keeps the service's Retry-After, but not beyond the end of the wait", async () => {
      await using scene = await Scene.of((_, _asked, response) =>
        sendJson(response, 429, refusedByOrg, { "retry-after": "50" }),
      );
      await scene.drive(scene.start());
      assert.deepEqual(scene.askedAt, [0, 50_000, 100_000, 120_000]);
    });

    it("keeps a Retry-After that is a date, counted on the service's clock", async () => {
      await using scene = await Scene.of((_, _asked, response) =>
        sendJson(response, 429, refusedByOrg, {
          date: "Tue, 03 Mar 2020 22:00:00 GMT",
          "retry-after": "Tue, 03 Mar 2020 22:01:00 GMT",
        }),
      );
      await scene.drive(scene.start());
      assert.deepEqual(scene.askedAt, [0, 60_000, 120_000]);
    });

    it("does not hammer a service that says to come back in 0 s", async () => {
      await using scene = await Scene.of((_, _asked, response) =>
        sendJson(response, 429, refusedByOrg, { "retry-after": "0" }),
      );
      await scene.drive(scene.start({ waitSeconds: 10 }));
      assert.deepEqual(
        scene.pauses,
        Array.from({ length: 10 }, () => 1000),
      );
    });

    it("starts with the attempt that finds the slot free", async () => {
      await using scene = await Scene.of((scene, _, response) =>
        scene.askedAt.length < 4
          ? sendJson(response, 429, refusedByOrg)
          : sendJson(response, 201, runOnWire()),
      );
      const outcome = await scene.drive(scene.start());
      assert.equal(outcome.kind, "started");
      assert.equal(scene.askedAt.length, 4);
    });

    it("comes back at once when the service held it for a while", async () => {
      await using scene = await Scene.of(async (scene, asked, response, gone) => {
        if (heldSeconds(asked) > 0)
          await scene.service.hold(scene.clock, Math.min(heldSeconds(asked), 50) * 1000, gone);
        sendJson(response, 429, refusedByOrg);
      });
      await scene.drive(scene.start());
      assert.deepEqual(scene.askedAt, [0, 0, 50_000, 100_000]);
    });
  });

  describe("when the day's runs are used", () => {
    it("is refused at once, with the seconds on the service's clock, however wrong the caller's is", async () => {
      await using scene = await Scene.of((_, _asked, response) =>
        sendJson(response, 429, refusedByDay, { date: "Tue, 03 Mar 2026 22:48:00 GMT" }),
      );
      for (const hoursOff of [-30, -5, 0, 5, 30]) {
        scene.clock.set(Date.parse("2026-03-03T22:48:00Z") + hoursOff * 3_600_000);
        const outcome = await scene.start();
        assert.deepEqual(outcome, {
          kind: "refused",
          refusal: { scope: "free-day", secondsToReset: 4320 },
          waitedSeconds: 0,
        });
      }
      assert.equal(scene.service.asked.length, 5);
      assert.deepEqual(scene.secondsTold, []);
    });

    it("ends the wait for a slot", async () => {
      await using scene = await Scene.of(async (scene, asked, response, gone) => {
        if (heldSeconds(asked) === 0) return sendJson(response, 429, refusedByOrg);
        await scene.service.hold(scene.clock, 30_000, gone);
        sendJson(response, 429, refusedByDay, { date: "Tue, 03 Mar 2026 23:59:00 GMT" });
      });
      const outcome = await scene.drive(scene.start());
      assert.deepEqual(outcome, {
        kind: "refused",
        refusal: { scope: "free-day", secondsToReset: 60 },
        waitedSeconds: 30,
      });
    });
  });

  describe("makes one run of one wish", () => {
    it("by the same idempotency key in every attempt, and another in the next wish", async () => {
      await using scene = await Scene.of((_, _asked, response) => sendJson(response, 429, refusedByOrg));
      await scene.drive(scene.start({ waitSeconds: 20 }));
      const keys = new Set(scene.service.asked.map(({ headers }) => headers["idempotency-key"]));
      assert.ok(scene.service.asked.length > 5);
      assert.equal(keys.size, 1);
      await scene.start({ waitSeconds: 0 });
      keys.add(scene.service.asked.at(-1)?.headers["idempotency-key"]);
      assert.equal(keys.size, 2);
      assert.ok(!keys.has(undefined));
    });

    it("when the answer to the first attempt is lost", async () => {
      await using scene = await Scene.of((scene, _, response) => {
        if (scene.askedAt.length === 1) response.destroy();
        else sendJson(response, 201, runOnWire());
      });
      assert.equal((await scene.drive(scene.start())).kind, "started");
      const [first, second] = scene.service.asked;
      assert.equal(first?.headers["idempotency-key"], second?.headers["idempotency-key"]);
    });

    it("when the first attempt isn't answered in time", async () => {
      await using scene = await Scene.of(async (scene, _asked, response, gone) => {
        if (scene.askedAt.length === 1) await scene.service.hold(scene.clock, 60_000, gone);
        else sendJson(response, 201, runOnWire());
      });
      assert.equal((await scene.drive(scene.start())).kind, "started");
      const [first, second] = scene.service.asked;
      assert.equal(first?.headers["idempotency-key"], second?.headers["idempotency-key"]);
    });

    it("when the connection of a held request is dropped again and again", async () => {
      await using scene = await Scene.of(async (scene, asked, response, gone) => {
        if (heldSeconds(asked) === 0) return sendJson(response, 429, refusedByOrg);
        await scene.service.hold(scene.clock, Math.min(heldSeconds(asked) * 1000, 30_000), gone);
        if (scene.askedAt.length < 4) response.destroy();
        else sendJson(response, 201, runOnWire());
      });
      assert.equal((await scene.drive(scene.start())).kind, "started");
      assert.equal(new Set(scene.service.asked.map(({ headers }) => headers["idempotency-key"])).size, 1);
    });
  });

  it("is out of reach when every connection is dropped, and says that there may be a run", async () => {
    await using scene = await Scene.of((_, _asked, response) => void response.destroy());
    await assert.rejects(scene.drive(scene.start()), (error) => {
      assert(error instanceof LostStart);
      assert.equal(error.type, "out-of-reach");
      assert.match(error.next, /may have been started.*`pipeline runs list --active`/);
      return true;
    });
    assert.equal(scene.service.asked.filter(isWish).length, 5);
  });

  describe("whose answers are lost", () => {
    for (const status of [502, 503, 504]) {
      it(`is sent again when something before the service answers ${status}`, async () => {
        await using scene = await Scene.of((scene, _, response) => {
          if (scene.askedAt.length < 3) return sendJson(response, status, {});
          sendJson(response, 201, runOnWire());
        });
        assert.equal((await scene.drive(scene.start())).kind, "started");
        assert.equal(scene.service.asked.length, 3);
        assert.equal(new Set(scene.service.asked.map(({ headers }) => headers["idempotency-key"])).size, 1);
      });
    }

    it("keeps the pause that is asked for, but no long one", async () => {
      for (const [pause, requests] of [
        [7, 2],
        [60, 1],
      ] as const) {
        await using scene = await Scene.of((scene, asked, response) => {
          if (!isWish(asked)) return sendJson(response, 200, { runs: [] });
          if (scene.askedAt.length > 1) return sendJson(response, 201, runOnWire());
          sendJson(response, 503, {}, { "retry-after": String(pause) });
        });
        const started = scene.drive(scene.start());
        if (requests === 1) await assert.rejects(started, { type: "out-of-reach", fault: "unavailable" });
        else assert.equal((await started).kind, "started");
        assert.equal(scene.service.asked.filter(isWish).length, requests);
        assert.equal(scene.clock.monotonic(), requests === 1 ? 0 : pause * 1000);
      }
    });

    it("is found by its key, and is the caller's run", async () => {
      await using scene = await Scene.of((scene, asked, response) => {
        if (!isWish(asked)) return sendJson(response, 200, { runs: [newRun()] });
        if (scene.service.asked.filter(isWish).length < 6) return void response.destroy();
        sendJson(response, 201, runOnWire());
      });
      const outcome = await scene.drive(scene.start());
      assert.equal(outcome.kind === "started" && outcome.run.runId, "run_1");
    });

    it("fails as it did, where the service knows of no run", async () => {
      await using scene = await Scene.of((_, asked, response) => {
        if (isWish(asked)) response.destroy();
        else sendJson(response, 200, { runs: [newRun({ pipeline: "hourly" })] });
      });
      await assert.rejects(scene.drive(scene.start()), { type: "out-of-reach", fault: "dropped" });
    });

    it("takes what is given of a run, whatever else the answer says", async () => {
      await using scene = await Scene.of((_, _asked, response) =>
        sendJson(response, 201, {
          "run-id": "a/b c",
          status: "queued",
          actor: "me",
          "created-at": "yesterday",
        }),
      );
      const outcome = await scene.start();
      assert(outcome.kind === "started");
      const { runId, status, actor, createdAt, pipeline } = outcome.run;
      assert.deepEqual(
        [runId, status, actor, createdAt, pipeline],
        ["a/b c", "queued", "me", undefined, "nightly"],
      );
    });

    it("names the run of an answer that breaks the contract elsewhere", async () => {
      await using scene = await Scene.of((_, _asked, response) =>
        sendJson(response, 201, runOnWire({ status: 5 })),
      );
      await assert.rejects(scene.start(), (error) => {
        assert(error instanceof LostStart);
        assert.equal(error.type, "breaks-contract");
        assert.match(error.message, /status/);
        assert.match(error.next, /run_1 was started.*`pipeline runs cancel run_1`/);
        return true;
      });
      assert.equal(scene.service.asked.length, 1);
    });

    it("is found also where the service tells little of a run", async () => {
      await using scene = await Scene.of((scene, asked, response) => {
        const run = { "run-id": "run_7", status: "running", actor: "key_1" };
        if (!isWish(asked)) return sendJson(response, 200, { runs: [run] });
        if (scene.service.asked.filter(isWish).length < 6) return void response.destroy();
        sendJson(response, 201, run);
      });
      const outcome = await scene.drive(scene.start());
      assert(outcome.kind === "started");
      assert.deepEqual([outcome.run.runId, outcome.run.pipeline], ["run_7", "nightly"]);
    });

    it("says that there may be a run, of whatever status and however long the answer is", async () => {
      for (const [status, body] of [
        [200, ""],
        [202, '{"run-id":"run_9","st'],
        [204, ""],
        [201, " ".repeat(5 * 1024 * 1024)],
      ] as const) {
        await using scene = await Scene.of(
          (_, _asked, response) => void response.writeHead(status).end(status === 204 ? undefined : body),
        );
        await assert.rejects(scene.drive(scene.start()), LostStart, `${status}`);
      }
    });

    it("says that there may be a run, when the answer tells nothing of it", async () => {
      await using scene = await Scene.of((_, asked, response) => {
        if (isWish(asked)) sendJson(response, 201, {});
        else sendError(response, 404, "not-found");
      });
      await assert.rejects(scene.start(), {
        type: "breaks-contract",
        next: /`pipeline runs list --active`/,
      });
    });
  });

  describe("while the service begins anew elsewhere", () => {
    for (const [what, breakOff] of [
      ["is gone", (_, response) => void response.destroy()],
      ["says that it ends", (_, response) => sendError(response, 500, "internal")],
    ] satisfies [string, Answer][]) {
      it(`goes on waiting there when the old one ${what}, with its key and its deadline`, async () => {
        await using other = await LoopbackService.listen((_, response) =>
          sendJson(response, 201, runOnWire()),
        );
        await using scene = await Scene.of(async (scene, asked, response, gone) => {
          if (heldSeconds(asked) === 0) return sendJson(response, 429, refusedByOrg);
          await scene.service.hold(scene.clock, 20_000, gone);
          await breakOff(asked, response);
        });
        const found = other.client(scene.clock, { fetch: scene.counted.fetch });
        const outcome = await scene.drive(scene.start({ reconnect: async () => found }));
        assert.equal(outcome.kind, "started");
        const [again] = other.asked;
        assert.equal(again?.headers["idempotency-key"], scene.service.asked[0]?.headers["idempotency-key"]);
        const left = heldSeconds(again);
        assert(left >= 98 && left <= 100, `${left} s`);
      });
    }

    it("takes a refused key at the very first for what it is", async () => {
      await using scene = await Scene.of((_, _asked, response) => sendError(response, 401, "unauthorized"));
      const reconnect = () => assert.fail("looked for another");
      await assert.rejects(scene.start({ reconnect }), { type: "unauthorized" });
    });
  });

  it("is out of reach at once when nobody listens", async () => {
    const scene = await Scene.of(() => undefined);
    const client = scene.service.client(scene.clock);
    await scene[Symbol.asyncDispose]();
    const started = startRun(wish, { client, onWaiting: () => undefined }, new AbortController().signal);
    await assert.rejects(started, { type: "out-of-reach", fault: "refused" });
  });

  it("forgives a service that restarts during the wait", async () => {
    await using scene = await Scene.of((scene, asked, response) => {
      if (heldSeconds(asked) === 0) return sendJson(response, 429, refusedByOrg);
      if (scene.askedAt.length < 4) return sendJson(response, 503, {});
      sendJson(response, 201, runOnWire());
    });
    assert.equal((await scene.drive(scene.start())).kind, "started");
  });

  it("knows that there is no run once that was said, whatever goes wrong afterwards", async () => {
    await using scene = await Scene.of((scene, _, response) => {
      if (scene.askedAt.length === 1) response.destroy();
      else if (scene.askedAt.length === 2) sendJson(response, 429, refusedByOrg);
      else sendError(response, 403, "forbidden", "Viewers start no runs.");
    });
    await assert.rejects(scene.drive(scene.start()), { type: "forbidden" });
    assert.equal(scene.service.asked.length, 3);
  });

  it("passes on any other error of the service", async () => {
    await using scene = await Scene.of((_, _asked, response) =>
      sendError(response, 404, "not-found", "There is no pipeline nightli; the nearest is nightly."),
    );
    await assert.rejects(scene.start(), {
      type: "not-found",
      message: "There is no pipeline nightli; the nearest is nightly.",
    });
  });

  it("tells apart a service that has no such endpoint", async () => {
    for (const status of [404, 405, 501]) {
      await using scene = await Scene.of(
        (_, _asked, response) => void response.writeHead(status).end("no such page"),
      );
      await assert.rejects(scene.start(), (error) => error instanceof AbsentEndpoint);
    }
  });

  describe("is stopped", () => {
    it("by an abort, which closes the connection and leaves the queue", async () => {
      await using scene = await Scene.of(holdThenRefuse);
      const stop = new AbortController();
      const started = scene.start({ signal: stop.signal });
      await scene.service.until(() => scene.service.asked.length === 2);
      const reason = new Error("no more waiting");
      stop.abort(reason);
      await assert.rejects(started, reason);
      await scene.service.until(() => scene.service.left === 1);
      const [, , list] = scene.service.asked;
      assert.equal(scene.service.asked.length, 3, "what isn't wanted is not asked for again");
      assert.equal(list?.method, "GET");
      assert.match(list?.path ?? "", /^\/api\/runs\?status=in-work&actor=me/);
    });

    it("by an abort while an older run of the same pipeline holds the slot: nothing is sent that could start another", async () => {
      await using scene = await Scene.of((scene, asked, response, gone) => {
        if (!isWish(asked)) return sendJson(response, 200, { runs: [runOnWire()] });
        if (scene.askedAt.length === 1) return sendJson(response, 429, refusedByOrg);
        return scene.service.hold(scene.clock, 120_000, gone);
      });
      const stop = new AbortController();
      const started = scene.start({ signal: stop.signal });
      await scene.service.until(() => scene.service.asked.length === 2);
      stop.abort(new Error("no more waiting"));
      await assert.rejects(started, /no more waiting/);
      assert.deepEqual(
        scene.service.asked.map(({ method }) => method),
        ["POST", "POST", "GET"],
      );
    });

    /** A service that has granted the run of the wish that it holds, and lists it. */
    const grantOnTheWay = (run: object) =>
      Scene.of(async (scene, asked, response, gone) => {
        if (asked.path.endsWith("/cancel")) {
          return sendJson(response, 200, { "run-id": "run_1", status: "cancelling" });
        }
        switch (scene.askedAt.length) {
          case 1:
            return sendJson(response, 429, refusedByOrg);
          case 2:
            return scene.service.hold(scene.clock, 120_000, gone);
          case 3:
            return sendJson(response, 200, { runs: [run] });
          default:
            return sendJson(response, 201, runOnWire());
        }
      });

    it("by an abort whose grant was on the way: the run is found by its key, and cancelled", async () => {
      await using scene = await grantOnTheWay(newRun());
      const stop = new AbortController();
      const started = scene.start({ signal: stop.signal });
      await scene.service.until(() => scene.service.asked.length === 2);
      stop.abort(new Error("no more waiting"));
      await assert.rejects(started, /no more waiting/);
      assert.deepEqual(
        scene.service.asked.slice(3).map(({ path }) => path),
        ["/api/runs", "/api/runs/run_1/cancel"],
      );
      assert.equal(JSON.parse(scene.service.asked[3]?.body ?? "").pipeline, "nightly");
      assert.equal(
        new Set(scene.service.asked.filter(isWish).map(({ headers }) => headers["idempotency-key"])).size,
        1,
      );
    });

    it("by an abort after the machine has slept: the run that was made meanwhile is cancelled", async () => {
      const hour = 3_600_000;
      await using scene = await grantOnTheWay(
        newRun({ "created-at": new Date(Date.now() - hour / 2).toISOString() }),
      );
      const stop = new AbortController();
      const started = scene.start({ signal: stop.signal });
      await scene.service.until(() => scene.service.asked.length === 2);
      scene.clock.set(scene.clock.now() + hour);
      stop.abort(new Error("no more waiting"));
      await assert.rejects(started, /no more waiting/);
      assert.equal(scene.service.asked.at(-1)?.path, "/api/runs/run_1/cancel");
    });

    it("by an abort, within 2 s, also when the service says no more", async () => {
      await using scene = await Scene.of(async (scene, _, response, gone) => {
        if (scene.askedAt.length === 1) return sendJson(response, 429, refusedByOrg);
        await scene.service.hold(scene.clock, 120_000, gone);
      });
      const stop = new AbortController();
      const started = scene.start({ signal: stop.signal });
      started.catch(() => undefined);
      await scene.service.until(() => scene.service.asked.length === 2);
      stop.abort(new Error("no more waiting"));
      await scene.service.until(() => scene.service.asked.length === 3);
      const before = scene.clock.monotonic();
      await assert.rejects(scene.drive(started), /no more waiting/);
      assert.equal(scene.clock.monotonic() - before, 2000);
      await scene.service.until(() => scene.service.left === 2);
    });

    it("by an abort in a pause", async () => {
      await using scene = await Scene.of((_, _asked, response) => sendJson(response, 429, refusedByOrg));
      const stop = new AbortController();
      const started = scene.start({
        signal: stop.signal,
        onWaiting: (left) => left === 110 && stop.abort(new Error("enough")),
      });
      await assert.rejects(scene.drive(started), /enough/);
      assert.equal(scene.clock.monotonic(), 10_000);
    });

    it("before it began, without a request", async () => {
      await using scene = await Scene.of((_, _asked, response) => sendJson(response, 201, runOnWire()));
      await assert.rejects(scene.start({ signal: AbortSignal.abort(new Error("too late")) }), /too late/);
      assert.equal(scene.service.asked.length, 0);
    });

    describe("during its first attempt", () => {
      /** Aborts once the first attempt has arrived. */
      async function abortedStart(
        scene: Scene,
        others: Partial<StartDeps> = {},
      ): Promise<{ started: Promise<StartOutcome>; reason: Error }> {
        const stop = new AbortController();
        const started = scene.start({ ...others, signal: stop.signal });
        started.catch(() => undefined);
        await scene.service.until(() => scene.service.asked.length === 1);
        const reason = new Error("not any more");
        stop.abort(reason);
        return { started, reason };
      }

      it("and cancels the run that was started meanwhile, so that none is active that nobody follows", async () => {
        const answered = Promise.withResolvers<void>();
        await using scene = await Scene.of(async (_, { path }, response) => {
          if (path.endsWith("/cancel")) {
            return sendJson(response, 200, { "run-id": "run_1", status: "cancelling" });
          }
          await answered.promise;
          sendJson(response, 201, runOnWire());
        });
        const { started, reason } = await abortedStart(scene);
        scene.clock.advance(1999);
        answered.resolve();
        await assert.rejects(started, reason);
        assert.equal(scene.service.left, 0, "the start was not broken off");
        assert.deepEqual(
          scene.service.asked.map(({ path }) => path),
          ["/api/runs", "/api/runs/run_1/cancel"],
        );
      });

      it("with the signal's reason, also when the run can't be cancelled", async () => {
        const answered = Promise.withResolvers<void>();
        await using scene = await Scene.of(async (_, { path }, response) => {
          if (path.endsWith("/cancel")) return void response.destroy();
          await answered.promise;
          sendJson(response, 201, runOnWire());
        });
        const { started, reason } = await abortedStart(scene);
        answered.resolve();
        await assert.rejects(started, reason);
      });

      it("with the signal's reason, whatever the attempt came to", async () => {
        for (const [status, body] of [
          [429, refusedByOrg],
          [500, { error: { type: "internal", message: "The disk is full." } }],
        ] as const) {
          const answered = Promise.withResolvers<void>();
          await using scene = await Scene.of(async (_, _asked, response) => {
            await answered.promise;
            sendJson(response, status, body);
          });
          const { started, reason } = await abortedStart(scene);
          answered.resolve();
          await assert.rejects(started, reason);
          assert.equal(scene.service.asked.length, 1);
        }
      });

      it("after 2 s by a service that doesn't answer, by closing the connection, and asks whether there is a run", async () => {
        let isInDoubt = false;
        await using scene = await Scene.of(() => undefined);
        const { started, reason } = await abortedStart(scene, { onDoubt: () => (isInDoubt = true) });
        scene.clock.advance(1999);
        assert.equal(scene.service.left, 0);
        scene.clock.advance(1);
        await scene.service.until(() => scene.service.asked.length === 2 && scene.service.left === 1);
        assert(!scene.service.asked.slice(1).some(isWish));
        scene.clock.advance(2000);
        await assert.rejects(started, reason);
        await scene.service.until(() => scene.service.left === 2);
        assert(isInDoubt);
      });

      it("and cancels the run whose answer never came", async () => {
        await using scene = await Scene.of(async (scene, asked, response) => {
          if (asked.path.endsWith("/cancel")) {
            return sendJson(response, 200, { "run-id": "run_1", status: "cancelling" });
          }
          if (scene.askedAt.length === 1) return;
          if (isWish(asked)) sendJson(response, 201, runOnWire());
          else sendJson(response, 200, { runs: [newRun()] });
        });
        const { started, reason } = await abortedStart(scene, { onDoubt: () => assert.fail() });
        scene.clock.advance(2000);
        await assert.rejects(started, reason);
        assert.equal(scene.service.asked.at(-1)?.path, "/api/runs/run_1/cancel");
      });

      it("and leaves the run to who takes it, so that it is cancelled once", async () => {
        const unwanted: string[] = [];
        await using scene = await Scene.of(async (scene, asked, response) => {
          if (scene.askedAt.length === 1) return;
          if (isWish(asked)) sendJson(response, 201, runOnWire());
          else sendJson(response, 200, { runs: [newRun()] });
        });
        const onUnwanted = ({ runId }: Run) => void unwanted.push(runId);
        const { started, reason } = await abortedStart(scene, { onUnwanted, onDoubt: () => assert.fail() });
        scene.clock.advance(2000);
        await assert.rejects(started, reason);
        assert.deepEqual(unwanted, ["run_1"]);
        assert(!scene.service.asked.some(({ path }) => path.endsWith("/cancel")));
      });

      it("and cancels the run whose answer was lost, when it comes in the pause before the next attempt", async () => {
        for (const isHeld of [false, true]) {
          const unwanted: string[] = [];
          const stop = new AbortController();
          await using scene = await Scene.of(async (scene, asked, response) => {
            if (asked.path.endsWith("/cancel")) {
              return sendJson(response, 200, { "run-id": "run_1", status: "cancelling" });
            }
            if (!isWish(asked)) return sendJson(response, 200, { runs: [newRun()] });
            const wishes = scene.service.asked.filter(isWish).length;
            if (isHeld && wishes === 1) return sendJson(response, 429, refusedByOrg);
            if (wishes === (isHeld ? 2 : 1)) return void response.destroy();
            sendJson(response, 201, runOnWire());
          });
          const started = scene.start({
            signal: stop.signal,
            onUnwanted: ({ runId }) => void unwanted.push(runId),
          });
          started.catch(() => undefined);
          // The pause, beside the second that is told while waiting.
          await scene.service.until(() => scene.service.left === 1);
          while (scene.clock.alarms !== (isHeld ? 2 : 1) || scene.counted.busy > 0) await turn();
          stop.abort(new Error("not any more"));
          await assert.rejects(started, /not any more/);
          assert.deepEqual(unwanted, ["run_1"]);
        }
      });

      it("and cancels a run of which nothing but its id can be read", async () => {
        const answered = Promise.withResolvers<void>();
        let isInDoubt = false;
        await using scene = await Scene.of(async (_, { path }, response) => {
          if (path.endsWith("/cancel")) return sendJson(response, 200, { "run-id": "run_1", status: "x" });
          await answered.promise;
          sendJson(response, 201, { "run-id": "run_1" });
        });
        const { started, reason } = await abortedStart(scene, { onDoubt: () => (isInDoubt = true) });
        answered.resolve();
        await assert.rejects(started, reason);
        assert.equal(scene.service.asked.at(-1)?.path, "/api/runs/run_1/cancel");
        assert(isInDoubt);
      });
    });

    describe("while a held attempt is being answered", () => {
      /** A service that grants the second attempt, whose body comes when `whole` says so. */
      function grant(whole: Promise<unknown>) {
        return Scene.of(async (scene, { path }, response) => {
          if (path.endsWith("/cancel")) {
            return sendJson(response, 200, { "run-id": "run_1", status: "cancelling" });
          }
          if (scene.service.asked.length === 1) return sendJson(response, 429, refusedByOrg);
          response.writeHead(201, { "content-type": "application/json" }).flushHeaders();
          await whole;
          response.end(JSON.stringify(runOnWire()));
        });
      }

      /** Aborts when the head of the grant has come to the client, which doesn't know of it yet. */
      function leavingFetch(scene: Scene, stop: AbortController): typeof fetch {
        return async (input, init) => {
          const response = await scene.counted.fetch(input, init);
          if (new Headers(init?.headers).has("prefer")) stop.abort(new Error("not any more"));
          return response;
        };
      }

      it("and cancels the run, so that none is active that nobody follows", async () => {
        const whole = Promise.withResolvers<void>();
        await using scene = await grant(whole.promise);
        const stop = new AbortController();
        stop.signal.addEventListener("abort", () => setImmediate(() => whole.resolve()));
        const client = scene.service.client(scene.clock, { fetch: leavingFetch(scene, stop) });
        await assert.rejects(startRun(wish, { client, onWaiting: () => {} }, stop.signal), /not any more/);
        assert.equal(scene.service.left, 0, "the start was not broken off");
        assert.deepEqual(
          scene.service.asked.map(({ path }) => path),
          ["/api/runs", "/api/runs", "/api/runs/run_1/cancel"],
        );
      });

      it("after 2 s by a service whose answer stays unfinished, by closing the connection", async () => {
        const never = Promise.withResolvers<void>();
        await using scene = await grant(never.promise);
        const stop = new AbortController();
        const client = scene.service.client(scene.clock, { fetch: leavingFetch(scene, stop) });
        const started = startRun(wish, { client, onWaiting: () => {} }, stop.signal);
        started.catch(() => undefined);
        // What tells the seconds sleeps, the attempt's deadline, and at last who awaits the rest of the answer.
        while (scene.clock.alarms < 3) await turn();
        scene.clock.advance(1999);
        await turn();
        assert.equal(scene.service.left, 0);
        scene.clock.advance(1);
        await scene.service.until(() => scene.service.left === 1 && scene.service.asked.length === 3);
        scene.clock.advance(5000);
        await assert.rejects(started, /not any more/);
        never.resolve();
      });
    });

    it("by a face that can't show the wait", async () => {
      await using scene = await Scene.of(holdThenRefuse);
      const onWaiting = (left: number): void => {
        if (left < 120) throw new PipelineError("internal", "no screen");
      };
      const started = scene.start({ onWaiting });
      await scene.service.until(() => scene.service.asked.length === 2);
      scene.clock.advance(1000);
      await assert.rejects(started, /no screen/);
      await scene.service.until(() => scene.service.left === 1);
    });
  });
});
