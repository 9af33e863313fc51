import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import * as fc from "fast-check";
import { followRun, isUnseen } from "../../src/client/follow/followRun.ts";
import { listRuns } from "../../src/client/follow/listRuns.ts";
import { registerProject } from "../../src/client/project.ts";
import { ServiceClient } from "../../src/client/service/client.ts";
import { AbsentEndpoint, LostStart } from "../../src/client/service/replyErrors.ts";
import { cancelEach, myActiveRuns } from "../../src/client/start/cancelRuns.ts";
import { slotHolders } from "../../src/client/start/slotHolders.ts";
import { startRun } from "../../src/client/start/startRun.ts";
import { PipelineError } from "../../src/contract/errors.ts";
import { quotaText } from "../../src/contract/limits.ts";
import { Session } from "../../src/extension/session/session.ts";
import { FakeClock } from "../clock/fakeClock.ts";
import { CountedFetch, drive } from "./drive.ts";
import { type Asked, LoopbackService, orgOnWire, runOnWire, sendJson, testKey } from "./loopbackService.ts";

/** What of a run is told: what is given, all that is ours, or what nobody knows and in the wrong types. */
const shape = fc.constantFrom("given", "without actor", "all", "odd");
type Shape = Drawn<typeof shape>;
type Drawn<A> = A extends fc.Arbitrary<infer T> ? T : never;

const bodies = [
  "",
  "<!doctype html><title>Not here</title>",
  '{"error":{"type":"not-found","message":"…"}}',
  '{"detail":"nothing"}',
];
const statuses = [404, 405, 410, 501, 401, 403, 400, 500, 502, 503, 200];
/** How a service has an endpoint of ours: in one of the ways that are of no use, or there. */
const way = fc.oneof(
  fc.record({
    kind: fc.constant("absent" as const),
    status: fc.constantFrom(...statuses),
    body: fc.constantFrom(...bodies),
  }),
  fc.record({ kind: fc.constant("redirect" as const), elsewhere: fc.boolean() }),
  fc.constant({ kind: "silent" as const }),
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("there" as const), shape }) },
);

/** It does what is asked, and answers something else, or nothing at all. */
const lost = fc.record({
  kind: fc.constant("lost" as const),
  // 0 closes the connection without an answer.
  status: fc.constantFrom(0, 200, 201, 500, 502, 503, 504),
  body: fc.constantFrom("", "<!doctype html><title>Sorry</title>", '{"ok":true}'),
});

/** A start that a limit refuses, until a cancel or for ever. */
const refused = fc.record({
  kind: fc.constant("refused" as const),
  body: fc.constantFrom(
    "",
    "<!doctype html><title>429</title>",
    '{"error":"too-many-runs","scope":"org"}',
    '{"error":{"type":"too-many-runs","scope":"free-day"}}',
    '{"type":"https://x/too-many-runs","detail":"free-day"}',
    '{"error":{"message":5}}',
  ),
  retryAfter: fc.option(fc.constantFrom("1", "0", "100000", "soon", "-1"), { nil: undefined }),
});

/** Of any shape, but of characters that can be seen, and none that a path can't carry. */
const id = fc
  .string({ unit: "grapheme", minLength: 1, maxLength: 20 })
  .filter((text) => /^[^\p{C}\p{Z}]+$/u.test(text) && text !== "." && text !== "..");
const status = fc.constantFrom("running", "cancelling", "succeeded", "failed", "queued", "erledigt");

const start = fc.oneof({ weight: 3, arbitrary: way }, lost, refused);

/** A service that has the given endpoints, and each of ours in some way. */
const anyServices = fc.record({
  used: fc.nat({ max: 2000 }),
  perDay: fc.nat({ max: 2000 }),
  me: id,
  /** Runs that there are before, in work or ended, mine or another's. */
  before: fc.uniqueArray(fc.record({ id, isMine: fc.boolean(), status }), {
    selector: ({ id }) => id,
    maxLength: 5,
  }),
  started: fc.record({ id, status, code: fc.constantFrom(200, 201, 202) }),
  /** How the started run ends, and after how many milliseconds. */
  end: fc.record({
    status: fc.constantFrom("succeeded", "failed", "timed-out", "erledigt"),
    after: fc.nat({ max: 40_000 }),
  }),
  ways: fc.record({ start, list: way, run: way, log: way, pipelines: way, project: way, events: way }),
  /** Whether it chooses runs by a query. */
  chooses: fc.boolean(),
  extra: fc.jsonValue(),
});
type AnyService = Drawn<typeof anyServices>;
type Way = Drawn<typeof start>;

const { SERVICES = "30", SEED = String(Date.now() % 2 ** 31) } = process.env;

/** 30 services in `npm test`, 1000 in `npm run fuzz`; `SEED=<n>` tries those of a run before. */
const generated = {
  text: `${SERVICES} of them, seed ${SEED}`,
  parameters: { numRuns: Number(SERVICES), seed: Number(SEED) },
};

interface KnownRun {
  readonly id: string;
  readonly actor: string;
  status: string;
  stoppedAt: number | undefined;
}

/** Such a service on loopback, what became of its runs, and a client whose time passes by itself. */
class ServedAny implements AsyncDisposable {
  readonly clock = new FakeClock();
  readonly counted = new CountedFetch();
  /** The ids of the runs that it was told to cancel. */
  readonly cancelled: string[] = [];
  /** How many runs were started; a repeated key starts none. */
  starts = 0;
  readonly service: LoopbackService;
  /** Another address, which nothing may be sent to. */
  readonly elsewhere: LoopbackService;
  readonly #any: AnyService;
  readonly #runs: KnownRun[];

  static async listen(any: AnyService): Promise<ServedAny> {
    const elsewhere = await LoopbackService.listen((_, response) => sendJson(response, 200, {}));
    const service = await LoopbackService.listen((asked, response, gone) =>
      served.#answer(asked, response, gone),
    );
    const served: ServedAny = new ServedAny(any, service, elsewhere);
    return served;
  }

  private constructor(any: AnyService, service: LoopbackService, elsewhere: LoopbackService) {
    this.#any = any;
    this.service = service;
    this.elsewhere = elsewhere;
    this.#runs = any.before.map(({ id, isMine, status }) => ({
      id,
      actor: isMine ? any.me : `not ${any.me}`,
      status,
      stoppedAt: inWork.has(status) ? undefined : this.clock.now(),
    }));
  }

  get client(): ServiceClient {
    return this.service.client(this.clock, { fetch: this.counted.fetch, random: () => 0.5 });
  }

  /** The same as the tool asks: what is safe to repeat is repeated. */
  get persistent(): ServiceClient {
    return new ServiceClient({ ...this.client, apiKey: testKey, retries: {} });
  }

  /** How the started run is now. */
  get startedRun(): KnownRun | undefined {
    return this.starts === 0 ? undefined : this.#runs[0];
  }

  /** The ids of my runs in work. */
  get mine(): string[] {
    const { me } = this.#any;
    return this.#runs.flatMap(({ id, actor, status }) => (actor === me && inWork.has(status) ? [id] : []));
  }

  /** What the promise comes to, and how many milliseconds of its clock that took; it must come to something. */
  async settled<T>(promise: Promise<T>): Promise<{ took: number; value?: T; error?: unknown }> {
    const began = this.clock.monotonic();
    const outcome = promise.then(
      (value) => ({ value }),
      (error: unknown) => ({ error }),
    );
    const settled = await drive(outcome, this.clock, this.service, this.counted);
    return { took: this.clock.monotonic() - began, ...settled };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.service[Symbol.asyncDispose]();
    await this.elsewhere[Symbol.asyncDispose]();
  }

  async #answer(asked: Asked, response: ServerResponse, gone: AbortSignal): Promise<void> {
    const { pathname: path, searchParams: query } = new URL(asked.path, "http://x");
    const { me, used, perDay, extra, ways } = this.#any;
    if (path === "/api/org") {
      const limits = { "parallel-runs": 1, "runs-per-day": perDay, extra };
      const usage = { "runs-today": used, extra };
      return sendJson(response, 200, { ...orgOnWire, limits, usage, actor: me, extra });
    }
    const cancel = /^\/api\/runs\/([^/]+)\/cancel$/.exec(path)?.[1];
    if (cancel !== undefined) return this.#cancel(decodeURIComponent(cancel), response);
    this.#passTime();
    const one = /^\/api\/runs\/([^/]+)(\/log)?$/.exec(path);
    if (one !== null) {
      const run = this.#runs.find(({ id }) => id === decodeURIComponent(one[1] ?? ""));
      if (one[2] !== undefined) return this.#log(ways.log, run, response, gone);
      return this.#say(ways.run, response, gone, (shape) => run && this.#wire(run, shape));
    }
    switch (`${asked.method} ${path}`) {
      case "POST /api/runs":
        return this.#say(ways.start, response, gone, (shape) => this.#start(shape), this.#any.started.code);
      case "GET /api/runs":
        return this.#say(ways.list, response, gone, (shape) => {
          // A page has two runs, whatever was asked for.
          const from = Number(query.get("after") ?? 0);
          const chosen = this.#chosen(query);
          const next =
            from + 2 < chosen.length ? { next: String(from + 2) } : shape === "odd" ? { next: 5 } : {};
          return { runs: chosen.slice(from, from + 2).map((run) => this.#wire(run, shape)), ...next };
        });
      case "GET /api/pipelines":
        return this.#say(ways.pipelines, response, gone, (shape) => ({
          pipelines: [{ name: "nightly", ...(shape === "odd" ? { path: 5, problem: null } : {}) }],
        }));
      case "GET /api/events":
        return this.#events(ways.events, response, gone);
      default:
        return this.#say(ways.project, response, gone, () => ({ name: "known", root: "/" }));
    }
  }

  #passTime(): void {
    const run = this.startedRun;
    if (run === undefined || !inWork.has(run.status) || this.clock.now() < this.#endsAt) return;
    run.status = this.#any.end.status;
    run.stoppedAt = this.#endsAt;
  }

  #endsAt = 0;

  #start(shape: Shape): unknown {
    if (this.starts === 0) {
      const { id, status } = this.#any.started;
      this.starts = 1;
      this.#endsAt = this.clock.now() + this.#any.end.after;
      const known = inWork.has(status) ? status : "running";
      this.#runs.unshift({ id, actor: this.#any.me, status: known, stoppedAt: undefined });
    }
    const [run] = this.#runs;
    return run && this.#wire(run, shape);
  }

  #cancel(id: string, response: ServerResponse): void {
    this.cancelled.push(id);
    const run = this.#runs.find((known) => known.id === id);
    if (run !== undefined) run.status = "cancelled";
    if (run !== undefined) run.stoppedAt = this.clock.now();
    sendJson(response, 200, { "run-id": id, status: "cancelled" });
  }

  #chosen(query: URLSearchParams): readonly KnownRun[] {
    if (!this.#any.chooses) return this.#runs;
    return this.#runs.filter(
      ({ actor, status }) =>
        (query.get("actor") !== "me" || actor === this.#any.me) &&
        (query.get("status") !== "in-work" || inWork.has(status)),
    );
  }

  #wire({ id, actor, status, stoppedAt }: KnownRun, shape: Shape): Record<string, unknown> {
    const stopped = stoppedAt === undefined ? {} : { "stopped-at": new Date(stoppedAt).toISOString() };
    const given = { "run-id": id, status, actor, ...stopped };
    switch (shape) {
      case "without actor":
        return { "run-id": id, status, ...stopped };
      case "given":
        return given;
      case "all":
        return { ...runOnWire(), "created-at": new Date(this.clock.now()).toISOString(), ...given };
      case "odd": {
        const odd = { pipeline: null, project: [], "time-limit-seconds": "30", steps: "none" };
        return { ...given, ...odd, "created-at": 5, "who-knows": this.#any.extra };
      }
      default:
        return shape satisfies never;
    }
  }

  /** @param body what an endpoint that is there says; undefined for what it doesn't know. */
  async #say(
    way: Way,
    response: ServerResponse,
    gone: AbortSignal,
    body: (shape: Shape) => unknown,
    code = 200,
  ): Promise<void> {
    switch (way.kind) {
      case "absent":
        response.writeHead(way.status, {
          "content-type": way.body.startsWith("{") ? "application/json" : "text/html",
        });
        return void response.end(way.body);
      case "redirect": {
        const location = way.elsewhere ? `${this.elsewhere.origin}/api/runs` : "/sign-in";
        return void response.writeHead(302, { location }).end();
      }
      case "silent":
        return await this.service.hold(this.clock, 1e9, gone);
      case "refused":
        response.writeHead(429, way.retryAfter === undefined ? {} : { "retry-after": way.retryAfter });
        return void response.end(way.body);
      case "lost":
        body("given");
        if (way.status === 0) return void response.destroy();
        return void response.writeHead(way.status, { "content-type": "application/json" }).end(way.body);
      case "there": {
        const value = body(way.shape);
        return value === undefined
          ? sendJson(response, 404, { error: { type: "not-found", message: "no such run" } })
          : sendJson(response, code, value);
      }
      default:
        way satisfies never;
    }
  }

  async #events(way: Way, response: ServerResponse, gone: AbortSignal): Promise<void> {
    if (way.kind !== "there") return this.#say(way, response, gone, () => undefined);
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(": hello\n\n");
    if (way.shape === "odd") response.write('event: run\ndata: {"status":5}\n\n');
    await this.service.hold(this.clock, 1e9, gone);
  }

  async #log(
    way: Way,
    run: KnownRun | undefined,
    response: ServerResponse,
    gone: AbortSignal,
  ): Promise<void> {
    if (way.kind !== "there" || run === undefined) return this.#say(way, response, gone, () => undefined);
    response.writeHead(200, { "content-type": "text/event-stream" });
    if (way.shape === "odd") response.write('event: log\ndata: {"sequence":"x"}\n\n');
    await this.service.hold(this.clock, Math.max(0, this.#endsAt - this.clock.now()), gone);
    if (!gone.aborted)
      response.end(`event: end\ndata: ${JSON.stringify({ "run-id": run.id, status: run.status })}\n\n`);
  }
}

/** Those of the statuses above that hold a slot: what isn't known does until the run has a time of its end. */
const inWork: ReadonlySet<string> = new Set(["running", "cancelling", "queued"]);

const never = new AbortController().signal;
const second = 1000;

/** Holds for any service: what `tried` finds, and that nothing was sent elsewhere nor the key told in an error. */
async function forAny(tried: (served: ServedAny, any: AnyService) => Promise<unknown>): Promise<void> {
  await fc.assert(
    fc.asyncProperty(anyServices, async (any) => {
      await using served = await ServedAny.listen(any);
      const error = await tried(served, any);
      assert.equal(served.elsewhere.asked.length, 0, "something was sent elsewhere");
      if (error === undefined) return;
      assert(error instanceof PipelineError, String(error));
      assert(!`${error.message} ${error.next}`.includes(testKey), "the key is told");
    }),
    generated.parameters,
  );
}

describe(`any service that has what is given (${generated.text})`, function () {
  this.timeout(600_000);

  it("has its number shown, whatever it has of ours", async () => {
    await forAny(async (served, { used, perDay }) => {
      const { value, took } = await served.settled(served.persistent.org(never));
      assert.equal(value && quotaText(value), `${used} of ${perDay} runs used today`);
      assert.equal(took, 0);
      return undefined;
    });
  });

  it("has no run that was started told as not started, nor followed beyond its end", async () => {
    await forAny(async (served, { end, ways }) => {
      await served.settled(registerProject(served.persistent, { name: "p", root: "/p" }, never));
      const deps = { client: served.persistent, onWaiting: () => {}, waitSeconds: 120 };
      const start = await served.settled(startRun({ pipeline: "nightly" }, deps, never));
      assert(start.took <= 200 * second, `the start took ${start.took} ms`);
      assert(served.starts <= 1);
      if (start.value?.kind !== "started") {
        const isDoubt = start.error instanceof LostStart;
        if (served.starts > 0) assert(isDoubt, `told as not started: ${start.error}`);
        assert.equal(start.value?.kind === "refused", ways.start.kind === "refused");
        return start.error;
      }
      assert.equal(served.starts, 1);
      const { run } = start.value;
      assert.equal(run.runId, served.startedRun?.id);
      assert.equal(run.pipeline, "nightly");
      const followed = await served.settled(followRun(served.persistent, run, () => {}, never));
      assert(followed.took <= end.after + 150 * second, `the following took ${followed.took} ms`);
      if (followed.value !== undefined) assert.equal(followed.value.status, served.startedRun?.status);
      else assert(isUnseen(followed.error), String(followed.error));
      return followed.error;
    });
  });

  it("has nothing cancelled that isn't one's own, and all that is where it tells of it", async () => {
    await forAny(async (served, { ways, before }) => {
      const { mine } = served;
      const listed = await served.settled(myActiveRuns(served.persistent, never));
      assert(listed.took <= 100 * second);
      if (listed.value === undefined) {
        assert(listed.error instanceof AbsentEndpoint, String(listed.error));
        return listed.error;
      }
      const runIds = listed.value.mine.map(({ runId }) => runId);
      await served.settled(cancelEach(served.persistent, runIds, never));
      const tellsActors = ways.list.kind === "there" && ways.list.shape !== "without actor";
      assert.deepEqual(served.cancelled.toSorted(), tellsActors ? mine.toSorted() : []);
      if (!tellsActors) assert(listed.value.nobodys.length <= before.length);
      return undefined;
    });
  });

  it("has a cancel by id done, and lists and holders that fail within their time", async () => {
    await forAny(async (served, { before }) => {
      for (const { id } of before) {
        const { value } = await served.settled(served.persistent.cancel(id, never));
        assert.deepEqual(value, { runId: id, status: "cancelled" });
      }
      const holders = await served.settled(slotHolders(served.client, never));
      assert(holders.took <= 10 * second && holders.error === undefined);
      const listed = await served.settled(listRuns(served.persistent, { statuses: [], limit: 20 }, never));
      assert(listed.took <= 100 * second);
      return listed.error;
    });
  });
});

describe(`the window's connection to any service that has what is given (${generated.text})`, function () {
  this.timeout(600_000);

  it("shows its number at once, and still does after ten minutes, however its events fail", async () => {
    await fc.assert(
      fc.asyncProperty(anyServices, async (any) => {
        await using served = await ServedAny.listen(any);
        const { clock, counted, service } = served;
        const session = new Session({
          target: () => ({ kind: "remote", baseUrl: new URL(`${service.origin}/`) }),
          keys: { keyFor: async () => ({ key: testKey }) },
          embedded: () => assert.fail("no embedded service is wanted here"),
          log: { info: () => {}, warn: () => {} },
          random: () => 0.5,
          clock,
          fetch: counted.fetch,
        });
        using _ = { [Symbol.dispose]: () => session.dispose() };
        const shown = () => {
          const { value } = session.state;
          return value.kind === "live" ? value.org.usage.runsToday : value.kind;
        };
        const live = new Promise<void>((resolve) => {
          session.state.observe(({ kind }) => kind === "live" && resolve());
        });
        session.watch();
        const { took } = await served.settled(live);
        assert.equal(took, 0);
        assert.equal(shown(), any.used);
        const seen = new Set<unknown>();
        session.state.observe(() => seen.add(shown()));
        await served.settled(clock.sleep(600_000, new AbortController().signal));
        assert.deepEqual([...seen], [any.used]);
        assert.equal(served.elsewhere.asked.length, 0);
      }),
      generated.parameters,
    );
  });
});
