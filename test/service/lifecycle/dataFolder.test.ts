import assert from "node:assert/strict";
import { copyFile, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { connectionFile, readConnection } from "../../../src/machine/connectionFile.ts";
import { type ServeOptions, type Serving, serve } from "../../../src/service/server.ts";
import { FakeClock } from "../../clock/fakeClock.ts";
import { isAlive } from "../../isAlive.ts";
import { itOn } from "../../itOn.ts";
import { TemporaryFolder } from "../../temporaryFolder.ts";
import { servedProcess } from "../servedProcess.ts";
import { programPipeline, started, untilCancelled, writePidTo, writtenPid } from "../startedService.ts";

async function serving(folder: string, changes: Partial<ServeOptions> = {}): Promise<Serving> {
  const options = { folder, port: 0, runnerPath: "", env: {}, log: () => {}, ...changes };
  const served = await serve(options);
  return served === "taken" ? assert.fail("the folder is served already") : served;
}

/** Turns the clock on until the promise settles. */
async function turnUntil(clock: FakeClock, promise: Promise<unknown>): Promise<void> {
  let isSettled = false;
  void promise.finally(() => {
    isSettled = true;
  });
  while (!isSettled) {
    clock.advance(1_000);
    await turn();
  }
}

async function taken(port: number): Promise<Server> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  return server;
}

function portOf(url: string): number {
  return Number(new URL(url).port);
}

describe("a service's data folder", () => {
  it("no longer says that it was stopped once the service can be found, and so stopped anew", async () => {
    await using folder = await TemporaryFolder.make();
    // What can't be removed, as a file can.
    await mkdir(join(folder.path, "service.stopped"));
    await assert.rejects(serving(folder.path), /service\.stopped/);
    assert.equal(await readConnection(folder.path), undefined);
  });

  itOn("posix", "when it is moved or deleted ends the service, which says so", async () => {
    for (const lose of [
      // The service may just be writing a file there.
      (folder: string) => rm(folder, { recursive: true, maxRetries: 9 }),
      (folder: string) => rename(folder, `${folder}-moved`),
      async (folder: string) => {
        await rename(folder, `${folder}-moved`);
        await mkdir(folder);
        await writeFile(join(folder, "service.lock"), "");
      },
      // As one puts a backup in its place.
      async (folder: string) => {
        await rename(join(folder, "runs.db"), join(folder, "old"));
        await rm(join(folder, "runs.db-wal"));
        await copyFile(join(folder, "old"), join(folder, "runs.db"));
      },
    ]) {
      await using parent = await TemporaryFolder.make();
      const folder = join(parent.path, "data");
      const clock = new FakeClock("2026-03-03T10:00:00Z");
      const logged: string[] = [];
      const service = await serving(folder, { clock, log: (_, message) => logged.push(message) });
      await lose(folder);
      await turnUntil(clock, service.stopped);
      assert.ok(logged.includes("the data folder or database was moved or deleted, so this service ends"));
      await assert.rejects(fetch(`${service.url}/healthz`));
      // Another can begin in its place.
      await (await serving(folder)).stop();
    }
  });

  itOn(
    "linux",
    "without its lock is served by nobody else before the service that had it has ended its runs",
    async () => {
      await using service = await servedProcess();
      const member = await service.member("acme", { parallelRuns: 1, runsPerDay: 50 });
      await using place = await TemporaryFolder.make();
      const file = join(place.path, "pid");
      const deaf = "process.on('SIGTERM', () => {});";
      await service.write("long", programPipeline(`${deaf} ${writePidTo(file)} ${untilCancelled}`));
      await started(member.client(), "long");
      const pid = await writtenPid(file);
      await rm(join(service.data, "service.lock"));
      const options = { folder: service.data, port: 0, runnerPath: "", env: {}, log: () => {} };
      let other: Awaited<ReturnType<typeof serve>>;
      do other = await serve(options);
      while (other === "taken");
      await other.stop();
      assert.equal(isAlive(pid), false);
      // The other would have found it lost.
      assert.deepEqual(
        (await service.rows()).map(({ status, reason }) => [status, reason]),
        [["cancelled", "the service ended: its data folder or database was moved or deleted"]],
      );
    },
  );

  it("gets the connection file again when someone took it away", async () => {
    await using folder = await TemporaryFolder.make();
    const clock = new FakeClock("2026-03-03T10:00:00Z");
    const service = await serving(folder.path, { clock });
    const before = await readConnection(folder.path);
    for (const spoil of [
      () => rm(connectionFile(folder.path)),
      () => writeFile(connectionFile(folder.path), "rubbish"),
    ]) {
      await spoil();
      while ((await readConnection(folder.path)) === undefined) {
        clock.advance(1_000);
        await turn();
      }
      assert.deepEqual(await readConnection(folder.path), before);
    }
    await service.stop();
  });

  it("goes on when the connection file can't be written for a while, and gets it again after that", async () => {
    await using folder = await TemporaryFolder.make();
    const clock = new FakeClock("2026-03-03T10:00:00Z");
    const logged: string[] = [];
    const service = await serving(folder.path, { clock, log: (_, message) => logged.push(message) });
    const file = connectionFile(folder.path);
    await rm(file);
    // Stands in the way of the file, as a full disk would.
    await mkdir(file);
    while (!logged.includes("the connection file could not be restored")) {
      clock.advance(1_000);
      await turn();
    }
    await rm(file, { recursive: true });
    while ((await readConnection(folder.path)) === undefined) {
      clock.advance(1_000);
      await turn();
    }
    await service.stop();
  });

  it("keeps the port for the next service, which moves on when that is taken", async () => {
    await using folder = await TemporaryFolder.make();
    const first = await serving(folder.path, { port: "as-before" });
    const port = portOf(first.url);
    await first.stop();
    const second = await serving(folder.path, { port: "as-before" });
    assert.equal(portOf(second.url), port);
    await second.stop();

    const stranger = await taken(port);
    const third = await serving(folder.path, { port: "as-before" });
    const other = portOf(third.url);
    assert.notEqual(other, port);
    await third.stop();
    stranger.close();
    const fourth = await serving(folder.path, { port: "as-before" });
    assert.equal(portOf(fourth.url), other);
    await fourth.stop();
  });

  it("is served whatever is left in the small files that a service writes there", async () => {
    await using folder = await TemporaryFolder.make();
    const ports = ["0\n", "99999\n", "-1\n", "eighty\n"].map((text) => ["service.port", text] as const);
    const cut = '{"url":"http://127.0.0.1:1","pid":1,';
    const garbage = ["service.json", "service.port"].map((name) => [name, cut] as const);
    const empty = ["service.json", "service.port", "service.lock"].map((name) => [name, ""] as const);
    for (const [name, text] of [...ports, ...garbage, ...empty]) {
      await writeFile(join(folder.path, name), text);
      const service = await serving(folder.path, { port: "as-before" });
      assert.equal((await readConnection(folder.path))?.url, service.url);
      assert.equal(await readFile(join(folder.path, "service.port"), "utf8"), `${portOf(service.url)}\n`);
      await service.stop();
    }
  });

  it("is not served where something else stands in the place of a small file, until that is gone", async () => {
    for (const [name, put, told] of [
      ["service.json", mkdir, /can't be used: .*service\.json/],
      ["service.port", mkdir, /can't be used: .*service\.port/],
      ["service.lock", mkdir, /service\.lock can't be used/],
      ["service.lock", (file: string) => writeFile(file, "x".repeat(9_000)), /service\.lock can't be used/],
    ] as const) {
      await using folder = await TemporaryFolder.make();
      await put(join(folder.path, name));
      const start = () => serving(folder.path, { port: "as-before" });
      await assert.rejects(start(), { type: "internal", message: told, next: /Check / });
      await rm(join(folder.path, name), { recursive: true });
      await (await start()).stop();
    }
  });

  it("is not served at a port that was asked for and is taken", async () => {
    await using folder = await TemporaryFolder.make();
    const stranger = await taken(0);
    const address = stranger.address();
    const port = typeof address === "object" && address !== null ? address.port : assert.fail();
    await assert.rejects(serving(folder.path, { port }), {
      type: "usage",
      message: /another program uses it/,
    });
    stranger.close();
  });
});
