import assert from "node:assert/strict";
import { ServiceClient } from "../../../src/client/service/client.ts";
import { OutOfReach } from "../../../src/client/service/reachFaults.ts";
import { PipelineError } from "../../../src/contract/errors.ts";
import { FakeClock } from "../../clock/fakeClock.ts";
import { CountedFetch, drive } from "../drive.ts";
import {
  type Answer,
  LoopbackService,
  orgOnWire,
  runOnWire,
  sendError,
  sendJson,
  testKey,
} from "../loopbackService.ts";
import { Told } from "../told.ts";

const never = new AbortController().signal;
const broken: Answer = (_, response) => void response.destroy();
interface Retry {
  readonly fault: OutOfReach;
  readonly pause: number;
}

/** A service that gives one answer after the other, the last one for ever, and a client that repeats. */
class Flaky implements AsyncDisposable {
  readonly clock = new FakeClock();
  readonly retried = new Told<Retry>();
  readonly #counted = new CountedFetch();
  readonly service: LoopbackService;

  static async listen(...answers: [Answer, ...Answer[]]): Promise<Flaky> {
    const left = [...answers];
    const service = await LoopbackService.listen((asked, response, gone) => {
      const answer = left.length > 1 ? left.shift() : left[0];
      return answer?.(asked, response, gone);
    });
    return new Flaky(service);
  }

  private constructor(service: LoopbackService) {
    this.service = service;
  }

  get client(): ServiceClient {
    return new ServiceClient({
      baseUrl: new URL(`${this.service.origin}/`),
      apiKey: testKey,
      clock: this.clock,
      random: () => 0.5,
      fetch: this.#counted.fetch,
      retries: { onRetry: (fault, pause) => this.retried.tell({ fault, pause }) },
    });
  }

  get pauses(): number[] {
    return this.retried.all.map(({ pause }) => pause);
  }

  drive<T>(asked: Promise<T>): Promise<T> {
    return drive(asked, this.clock, this.service, this.#counted);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    assert.equal(this.clock.alarms, 0, "no timer is left");
    await this.service[Symbol.asyncDispose]();
  }
}

const unavailable =
  (status: number, headers: Record<string, string> = {}): Answer =>
  (_, response) =>
    void response.writeHead(status, headers).end();
const org: Answer = (_, response) => sendJson(response, 200, orgOnWire);

describe("a client that repeats", () => {
  const passing: [string, Answer][] = [
    ["a connection that was dropped", broken],
    [
      "an answer that was broken off",
      (_, response) => {
        response.writeHead(200, { "content-type": "application/json", "content-length": "500" });
        response.write("{", () => response.destroy());
      },
    ],
    ["a bad gateway", unavailable(502)],
    ["a service that is being restarted", unavailable(503)],
    [
      "one of many servers that is about to end",
      (_, response) => {
        response.setHeader("retry-after", "1");
        sendError(response, 503, "internal");
      },
    ],
    [
      "a service that stood still while the request was on its way",
      (_, response) => sendError(response, 408, "invalid-request"),
    ],
    ["a gateway that waited in vain", unavailable(504)],
    ["a 429 that says when to come again", unavailable(429, { "retry-after": "1" })],
  ];
  for (const [name, answer] of passing) {
    it(`asks again after ${name}, and tells of it`, async () => {
      await using flaky = await Flaky.listen(answer, answer, org);
      assert.equal((await flaky.drive(flaky.client.org(never))).orgName, "Lamps");
      assert.equal(flaky.service.asked.length, 3);
      const [first, second] = flaky.retried.all;
      assert.ok(first !== undefined && second !== undefined && first.pause < second.pause);
      assert.ok(first.fault instanceof OutOfReach);
    });
  }

  it("asks four times in all, and then tells what was wrong last", async () => {
    await using flaky = await Flaky.listen(broken, broken, broken, unavailable(502));
    await assert.rejects(flaky.drive(flaky.client.org(never)), { fault: "unavailable" });
    assert.equal(flaky.service.asked.length, 4);
    assert.equal(flaky.pauses.length, 3);
    assert.ok(flaky.clock.monotonic() <= 15_000);
  });

  it("asks a silent service twice", async () => {
    const clocked: { flaky?: Flaky } = {};
    const hold: Answer = (_, __, gone) => clocked.flaky?.service.hold(clocked.flaky.clock, 3_600_000, gone);
    await using flaky = await Flaky.listen(hold);
    clocked.flaky = flaky;
    await assert.rejects(flaky.drive(flaky.client.org(never)), { fault: "timed-out" });
    assert.equal(flaky.service.asked.length, 2);
    await flaky.service.until(() => flaky.service.left === 2 && flaky.service.held === 0);
    assert.ok(flaky.clock.monotonic() >= 20_000 && flaky.clock.monotonic() < 25_000);
  });

  it("waits as long as it is asked to", async () => {
    await using flaky = await Flaky.listen(unavailable(503, { "retry-after": "9" }), org);
    await flaky.drive(flaky.client.org(never));
    assert.deepEqual(flaky.pauses, [9000]);
  });

  it("does not wait when it is asked to for longer than a person would", async () => {
    for (const status of [429, 503]) {
      await using flaky = await Flaky.listen(unavailable(status, { "retry-after": "16" }), org);
      await assert.rejects(flaky.drive(flaky.client.org(never)), { next: "Try again in 16 s." });
      assert.equal(flaky.service.asked.length, 1);
    }
  });

  const final: [string, Answer][] = [
    ["a 429 that says nothing of when", unavailable(429)],
    ["an error of the service", (_, response) => sendError(response, 500, "internal")],
    [
      "an error of the service's own that comes with 503 and doesn't say that it passes",
      (_, response) => sendError(response, 503, "internal"),
    ],
    ["a key that isn't accepted", unavailable(401)],
    ["a redirect", unavailable(307, { location: "/elsewhere" })],
    ["what is not the contract's", (_, response) => void response.writeHead(200).end("<html>")],
  ];
  for (const [name, answer] of final) {
    it(`asks once when it gets ${name}`, async () => {
      await using flaky = await Flaky.listen(answer, org);
      await assert.rejects(flaky.drive(flaky.client.org(never)), PipelineError);
      assert.equal(flaky.service.asked.length, 1);
      assert.deepEqual(flaky.pauses, []);
    });
  }

  it("gives up at once when nobody listens", async () => {
    const flaky = await Flaky.listen(org);
    const { client } = flaky;
    await flaky[Symbol.asyncDispose]();
    await assert.rejects(client.org(never), { fault: "refused" });
    assert.deepEqual(flaky.pauses, []);
  });

  it("repeats every question, a cancel, and telling where a project is", async () => {
    const calls: [unknown, (client: ServiceClient) => Promise<unknown>][] = [
      [{ runs: [] }, (client) => client.runs({}, never)],
      [runOnWire(), (client) => client.run("run_1", never)],
      [{ pipelines: [] }, (client) => client.pipelines(undefined, never)],
      [{ "run-id": "run_1", status: "cancelled" }, (client) => client.cancel("run_1", never)],
      [{ name: "lamps", root: "/lamps" }, (client) => client.putProject("lamps", "/lamps", never)],
    ];
    for (const [body, call] of calls) {
      await using flaky = await Flaky.listen(broken, (_, response) => sendJson(response, 200, body));
      assert.ok(await flaky.drive(call(flaky.client)));
      assert.equal(flaky.service.asked.length, 2);
      const [first, second] = flaky.service.asked;
      assert.deepEqual([first?.method, first?.path], [second?.method, second?.path]);
    }
  });

  it("never repeats a start, nor a link to sign in", async () => {
    const calls: ((client: ServiceClient) => Promise<unknown>)[] = [
      (client) => client.start({ pipeline: "a" }, { waitSeconds: 0, idempotencyKey: "k" }, never),
      (client) => client.signInLink(never),
    ];
    for (const call of calls) {
      await using flaky = await Flaky.listen(unavailable(503));
      await assert.rejects(flaky.drive(call(flaky.client)), OutOfReach);
      assert.equal(flaky.service.asked.length, 1);
    }
  });

  it("stops in a pause at once when it is told to", async () => {
    await using flaky = await Flaky.listen(broken);
    const stop = new AbortController();
    const asked = flaky.client.org(stop.signal);
    await flaky.retried.atLeast(1);
    const reason = new Error("changed my mind");
    stop.abort(reason);
    await assert.rejects(asked, reason);
    assert.equal(flaky.service.asked.length, 1);
  });

  it("asks once for those who have patience of their own", async () => {
    await using flaky = await Flaky.listen(broken, org);
    await assert.rejects(flaky.client.withoutRetries().org(never), { fault: "dropped" });
    assert.equal(flaky.service.asked.length, 1);
    const { client } = flaky;
    assert.equal(client.withoutRetries().withoutRetries().baseUrl, client.baseUrl);
  });

  it("asks once when nobody wants it to repeat", async () => {
    await using flaky = await Flaky.listen(broken, org);
    await assert.rejects(flaky.service.client(flaky.clock).org(never), { fault: "dropped" });
    assert.equal(flaky.service.asked.length, 1);
  });
});
