import assert from "node:assert/strict";
import { setImmediate as turn } from "node:timers/promises";
import { parseBaseUrl } from "../../../src/client/service/request.ts";
import { PipelineError } from "../../../src/contract/errors.ts";
import type { SessionState } from "../../../src/extension/session/serviceConnection.ts";
import { Session, type SessionDeps } from "../../../src/extension/session/session.ts";
import type { ObservableValue } from "../../../src/extension/window/observable.ts";
import { systemClock } from "../../../src/machine/clock.ts";
import { ServiceStopped } from "../../../src/machine/connectionFile.ts";
import { LoopbackService, orgOnWire, sendError, sendJson } from "../../client/loopbackService.ts";
import { FakeClock } from "../../clock/fakeClock.ts";
import { programPipeline, started, startedService, untilCancelled } from "../../service/startedService.ts";

const never = new AbortController().signal;

/** The first state of a kind that the session comes to. */
function reaching<Kind extends SessionState["kind"]>(
  state: ObservableValue<SessionState>,
  kind: Kind,
  accept: (state: Extract<SessionState, { kind: Kind }>) => boolean = () => true,
): Promise<Extract<SessionState, { kind: Kind }>> {
  return new Promise((resolve) => {
    const following = state.observe((value) => {
      if (value.kind !== kind || !accept(value as Extract<SessionState, { kind: Kind }>)) return;
      resolve(value as Extract<SessionState, { kind: Kind }>);
      queueMicrotask(() => following.dispose());
    });
  });
}

function sessionWith(deps: Partial<SessionDeps>) {
  const session = new Session({
    target: () => ({ kind: "embedded" }),
    keys: { keyFor: async () => undefined },
    embedded: () => Promise.reject(new Error("no embedded service is wanted here")),
    clock: systemClock,
    log: { info: () => {}, warn: () => {} },
    ...deps,
  });
  return Object.assign(session, { [Symbol.dispose]: () => session.dispose() });
}

const remote = (origin: string) => () => ({ kind: "remote" as const, baseUrl: parseBaseUrl(origin) });

describe("the window's connection to its service", () => {
  it("asks for nothing and shows nothing until it is wanted", () => {
    using session = sessionWith({ target: () => assert.fail("nothing is looked at") });
    assert.deepEqual(session.state.value, { kind: "idle" });
  });

  it("is live with the org's numbers, and follows each run", async () => {
    await using service = await startedService();
    const { client, secret } = await service.member();
    await service.write("long", programPipeline(untilCancelled));
    using session = sessionWith({
      target: remote(service.url),
      keys: { keyFor: async () => ({ key: secret }) },
    });
    session.watch();
    assert.equal((await reaching(session.state, "live")).org.usage.runsToday, 0);
    const run = await started(client, "long");
    const busy = await reaching(session.state, "live", ({ activeRuns }) => activeRuns?.length === 1);
    assert.equal(busy.org.usage.runsToday, 1);
    assert.equal(busy.activeRuns?.[0]?.runId, run.runId);
    await client.cancel(run.runId, never);
    await reaching(session.state, "live", ({ activeRuns }) => activeRuns?.length === 0);
  });

  it("lets what comes later begin once the numbers are known, or why there are none", async () => {
    await using service = await startedService();
    const { secret } = await service.member();
    using session = sessionWith({
      target: remote(service.url),
      keys: { keyFor: async () => ({ key: secret }) },
    });
    session.watch();
    assert.equal(session.state.value.kind, "connecting");
    await session.settled();
    assert.equal(session.state.value.kind, "live");
    using without = sessionWith({ target: remote(service.url) });
    without.watch();
    await without.settled();
    assert.equal(without.state.value.kind, "no-key");
  });

  it("says that a key is missing, and tells it from one that is not accepted", async () => {
    await using service = await startedService();
    using without = sessionWith({ target: remote(service.url) });
    without.watch();
    assert.deepEqual(await reaching(without.state, "no-key"), {
      kind: "no-key",
      origin: service.url,
      refused: false,
    });
    using wrong = sessionWith({
      target: remote(service.url),
      keys: { keyFor: async () => ({ key: "plr_wrong" }) },
    });
    wrong.watch();
    assert.equal((await reaching(wrong.state, "no-key")).refused, true);
    await assert.rejects(without.connect(never), { type: "unauthorized", message: /no API key for/ });
  });

  it("holds no number once the service has gone, and comes back by itself", async () => {
    await using service = await startedService();
    const { secret } = await service.member();
    using session = sessionWith({
      target: () => remote(service.url)(),
      keys: { keyFor: async () => ({ key: secret }) },
    });
    session.watch();
    await reaching(session.state, "live");
    const gone = reaching(session.state, "out-of-reach");
    await service.restart();
    await gone;
    await reaching(session.state, "live");
  });

  it("looks for this machine's service anew when it has gone, since its port and token are new", async () => {
    await using service = await startedService();
    let looked = 0;
    const { secret } = await service.member();
    using session = sessionWith({
      embedded: async () => {
        looked += 1;
        return { baseUrl: new URL(`${service.url}/`), apiKey: secret };
      },
    });
    session.watch();
    await reaching(session.state, "live");
    const gone = reaching(session.state, "out-of-reach");
    await service.restart();
    await gone;
    await reaching(session.state, "live");
    assert(looked >= 2);
  });

  it("connects once: a command gets the open connection's client, until the key is another", async () => {
    await using service = await startedService();
    const { secret } = await service.member();
    const { secret: other } = await service.member();
    let looked = 0;
    let key: string | undefined;
    using session = sessionWith({
      keys: { keyFor: async () => (key === undefined ? undefined : { key }) },
      embedded: async () => {
        looked += 1;
        return { baseUrl: new URL(`${service.url}/`), apiKey: secret };
      },
    });
    session.watch();
    await reaching(session.state, "live", ({ activeRuns }) => activeRuns !== undefined);
    assert.equal(await session.connect(never), session.currentClient);
    assert.equal(looked, 1);
    assert.notEqual(await session.reconnect(never), session.currentClient);
    key = other;
    assert.equal((await session.connect(never)).apiKey, other);
    assert.equal(looked, 3);
  });

  it("looks for the service anew for a command once the connection has broken", async () => {
    let asks = 0;
    await using service = await LoopbackService.listen(async (asked, response, gone) => {
      if (asked.path === "/api/org") {
        asks += 1;
        // What was opened is followed by a question for what came before.
        if (asks === 2) sendError(response, 500, "internal");
        else sendJson(response, 200, orgOnWire);
        return;
      }
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(": here\n\n");
      await service.hold(systemClock, 120_000, gone);
    });
    let looked = 0;
    using session = sessionWith({
      clock: new FakeClock(),
      embedded: async () => {
        looked += 1;
        return { baseUrl: new URL(`${service.origin}/`), apiKey: "plk_key" };
      },
    });
    session.watch();
    await reaching(session.state, "out-of-reach");
    await session.connect(never);
    assert.equal(looked, 2);
  });

  it("stays with nothing when it is stopped while it looks for the service", async () => {
    const found = Promise.withResolvers<{ key: string }>();
    using session = sessionWith({
      target: remote("https://runs.example"),
      keys: { keyFor: () => found.promise },
      fetch: () => assert.fail("nothing is asked"),
    });
    session.watch();
    session.stop();
    found.resolve({ key: "plk_key" });
    await turn();
    assert.equal(session.currentClient, undefined);
    assert.equal(session.hasEnteredKey, false);
  });

  it("asks a service that has no events, and again after a command", async () => {
    let used = 7;
    await using service = await LoopbackService.listen((asked, response) => {
      if (asked.path === "/api/org") sendJson(response, 200, { ...orgOnWire, usage: { "runs-today": used } });
      else response.writeHead(404).end("nothing here");
    });
    using session = sessionWith({
      target: remote(service.origin),
      keys: { keyFor: async () => ({ key: "plk_key" }) },
    });
    session.watch();
    const first = await reaching(session.state, "live");
    assert.equal(first.org.usage.runsToday, 7);
    assert.equal(first.activeRuns, undefined);
    used = 8;
    await session.refresh(await session.connect(never), never);
    await reaching(session.state, "live", ({ org }) => org.usage.runsToday === 8);
  });

  it("says what is wrong with a base URL, and doesn't try again", async () => {
    const error = new PipelineError("usage", "The setting can't be used.");
    using session = sessionWith({ target: () => ({ kind: "invalid", error }) });
    session.watch();
    assert.match((await reaching(session.state, "out-of-reach")).problem, /The setting can't be used\./);
    await assert.rejects(session.connect(never), error);
  });

  it("says that this machine's service can't serve the window, and doesn't try again", async () => {
    let tried = 0;
    const clock = new FakeClock();
    using session = sessionWith({
      clock,
      embedded: () => {
        tried += 1;
        return Promise.reject(new PipelineError("not-supported", "The files are elsewhere."));
      },
    });
    session.watch();
    assert.match((await reaching(session.state, "not-supported")).problem, /The files are elsewhere\./);
    await turn();
    assert.equal(clock.alarms, 0);
    assert.equal(tried, 1);
    assert.equal(session.state.value.kind, "not-supported");
  });

  it("leaves this machine's service stopped where a person has stopped it, until one asks in some window", async () => {
    await using service = await startedService();
    const { client } = await service.member();
    const clock = new FakeClock();
    let isThere = false;
    const asked: string[] = [];
    const infos: string[] = [];
    const inWindow = () =>
      sessionWith({
        clock,
        log: { info: (line) => void infos.push(line), warn: (line) => assert.fail(line) },
        embedded: async (_, start) => {
          if (start === "asked") asked.push(start);
          isThere ||= start === "asked";
          if (!isThere) throw new ServiceStopped();
          return { baseUrl: client.baseUrl, apiKey: client.apiKey };
        },
      });
    using one = inWindow();
    using other = inWindow();
    for (const session of [one, other]) {
      session.watch();
      await reaching(session.state, "stopped");
      await assert.rejects(session.connect(never), ServiceStopped);
    }
    for (let look = 0; look < 20; look++) {
      clock.advance(2_000);
      for (let tick = 0; tick < 10; tick++) await turn();
    }
    assert.deepEqual([one.state.value.kind, other.state.value.kind, asked], ["stopped", "stopped", []]);
    assert.equal(infos.length, 2);

    await one.connect(never, "asked");
    await reaching(one.state, "live");
    assert.equal(other.state.value.kind, "stopped");
    const live = reaching(other.state, "live");
    clock.advance(2_000);
    await live;
    assert.deepEqual(asked, ["asked"]);
  });

  it("begins anew with new settings, and lets everything go when disposed", async () => {
    await using first = await startedService();
    await using second = await startedService();
    const keys = new Map([
      [first.url, { key: (await first.key("member", "first")).secret }],
      [second.url, { key: (await second.key("member", "second")).secret }],
    ]);
    let url = first.url;
    using session = sessionWith({
      target: () => remote(url)(),
      keys: { keyFor: async (origin) => keys.get(origin) },
    });
    session.watch();
    await reaching(session.state, "live", ({ org }) => org.orgName === "first");
    url = second.url;
    session.restart();
    await reaching(session.state, "live", ({ org }) => org.orgName === "second");
    session.dispose();
    assert.equal(session.state.value.kind, "idle");
  });

  it("is live again after a key was refused once, as soon as a command gets through", async () => {
    let refused = true;
    await using service = await LoopbackService.listen((asked, response) => {
      if (refused) sendError(response, 401, "unauthorized");
      else if (asked.path === "/api/org") sendJson(response, 200, orgOnWire);
      else response.writeHead(404).end();
    });
    using session = sessionWith({
      target: remote(service.origin),
      keys: { keyFor: async () => ({ key: "plk_key" }) },
    });
    session.watch();
    assert.equal((await reaching(session.state, "no-key")).refused, true);
    refused = false;
    await session.connect(never);
    await reaching(session.state, "live");
  });

  it("shows the numbers of a service whose events tell of changes only", async () => {
    await using service = await LoopbackService.listen(async (asked, response, gone) => {
      if (asked.path === "/api/org") {
        sendJson(response, 200, orgOnWire);
        return;
      }
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(": nothing yet\n\n");
      await service.hold(systemClock, 120_000, gone);
    });
    using session = sessionWith({
      target: remote(service.origin),
      keys: { keyFor: async () => ({ key: "plk_key" }) },
    });
    session.watch();
    assert.equal((await reaching(session.state, "live")).org.usage.runsToday, 7);
  });
});
