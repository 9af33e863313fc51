import assert from "node:assert/strict";
import { setImmediate as turn } from "node:timers/promises";
import { connectEmbedded } from "../../../src/client/embedded/connectEmbedded.ts";
import { findEmbedded } from "../../../src/client/embedded/findEmbedded.ts";
import { readConnection } from "../../../src/machine/connectionFile.ts";
import { standInFor } from "../../client/embedded/standIn.ts";
import { FakeClock } from "../../clock/fakeClock.ts";
import { until } from "../../until.ts";
import { ended, programPipeline, started, startedService, untilCancelled } from "../startedService.ts";

const never = new AbortController().signal;
const minute = 60_000;

/** A service that ends after ten minutes, and whether it has. */
async function idling() {
  const clock = new FakeClock("2026-03-03T10:00:00Z");
  const service = await startedService({ clock, idleSeconds: 600 });
  return { clock, service, isServing: async () => (await readConnection(service.data)) !== undefined };
}

/** Lets minutes pass one by one, with time between them for what they bring about. */
async function pass(clock: FakeClock, minutes: number): Promise<void> {
  for (let passed = 0; passed < minutes; passed += 1) {
    clock.advance(minute);
    await turn();
  }
}

async function untilEnded(isServing: () => Promise<boolean>): Promise<void> {
  while (await isServing()) await turn();
}

describe("a service that ends by itself", () => {
  it("does so ten minutes after the last request, and takes its file away", async () => {
    const { clock, service, isServing } = await idling();
    await using _ = service;
    await pass(clock, 9);
    await (await service.fetch("/healthz")).text();
    await pass(clock, 10);
    assert.ok(await isServing());
    clock.advance(minute);
    await untilEnded(isServing);
    // It takes its file away before it stops to listen.
    await until(() =>
      service.fetch("/healthz").then(
        () => false,
        () => true,
      ),
    );
  });

  it("stays as long as someone listens, and ten minutes longer", async () => {
    const { clock, service, isServing } = await idling();
    await using _ = service;
    const { secret } = await service.key("viewer");
    const stop = new AbortController();
    const stream = await service.fetch("/api/events", {
      headers: { "x-api-key": secret },
      signal: stop.signal,
    });
    assert.equal(stream.status, 200);
    await pass(clock, 60);
    assert.ok(await isServing());
    stop.abort();
    let minutes = 0;
    for (; await isServing(); minutes += 1) await pass(clock, 1);
    assert.ok(minutes >= 10, String(minutes));
  });

  it("stays as long as a run is active and a start is held", async () => {
    const { clock, service, isServing } = await idling();
    await using _ = service;
    const { client } = await service.member();
    await service.write("long", programPipeline(untilCancelled, "1h"));
    await service.write("hello", programPipeline(""));
    const run = await started(client, "long");
    await pass(clock, 30);
    assert.ok(await isServing());
    const held = started(client, "hello", 120);
    await client.cancel(run.runId, never);
    assert.equal((await ended(client, await held)).status, "succeeded");
  });

  it("is found by nobody from the moment on when it begins to end: who looks for it then starts another", async () => {
    const { clock, service } = await idling();
    await using _ = service;
    await using standIn = await standInFor();
    const dying = await readConnection(service.data);
    const deps = standIn.deps({ folder: service.data });
    // The eleventh minute ends it; nothing was awaited since, so its end has only just begun.
    for (let passed = 0; passed < 11; passed += 1) clock.advance(minute);
    assert.equal(await findEmbedded(deps, never), undefined);
    const { connection, client } = await connectEmbedded(deps, never);
    assert.notEqual(connection.instance, dying?.instance);
    assert.deepEqual(await client.runs({}, never), { runs: [] });
  });
});
