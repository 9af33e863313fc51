import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import { type AddressInfo, connect, createServer as createSocketServer } from "node:net";
import { BadLine, type LineFault } from "./badLine.ts";
import { reset } from "./reset.ts";

const answer = "the answer";

/** A server that counts what arrives, behind a line of which the first connection has a fault. */
async function behind(fault: LineFault) {
  let arrived = 0;
  const server = createServer((request: IncomingMessage, reply) => {
    arrived += 1;
    request.resume().once("end", () => reply.end(answer));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const faults = [fault];
  const line = await BadLine.open({
    target: () => new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`),
    next: () => faults.shift() ?? { kind: "none" },
  });
  return {
    line,
    get arrived() {
      return arrived;
    },
    ask: (signal?: AbortSignal) =>
      fetch(line.url, { method: "POST", body: "a request", ...(signal && { signal }) }).then((reply) =>
        reply.text(),
      ),
    async [Symbol.asyncDispose]() {
      await line[Symbol.asyncDispose]();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

describe("the line that is bad", () => {
  for (const fault of [{ kind: "none" }, { kind: "delay", milliseconds: 30 }, { kind: "dribble" }] as const) {
    it(`passes everything, with the fault ${fault.kind}`, async () => {
      await using there = await behind(fault);
      assert.equal(await there.ask(), answer);
      assert.equal(there.arrived, 1);
    });
  }

  it("breaks a connection before a byte is taken", async () => {
    await using there = await behind({ kind: "refuse" });
    await assert.rejects(there.ask());
    assert.equal(there.arrived, 0);
    assert.equal(await there.ask(), answer);
  });

  it("cuts a request in its middle, which then doesn't arrive", async () => {
    await using there = await behind({ kind: "cut request", bytes: 20 });
    await assert.rejects(there.ask());
    assert.equal(there.arrived, 0);
  });

  it("cuts the answer to a request that has arrived", async () => {
    for (const bytes of [0, 20]) {
      await using there = await behind({ kind: "cut reply", bytes });
      await assert.rejects(there.ask());
      assert.equal(there.arrived, 1);
    }
  });

  it("swallows a request, and tells nobody", async () => {
    await using there = await behind({ kind: "swallow request", bytes: 0 });
    const giving = new AbortController();
    const asked = there.ask(giving.signal);
    while (there.line.connections < 2) await new Promise(setImmediate);
    giving.abort();
    await assert.rejects(asked, { name: "AbortError" });
    assert.equal(there.arrived, 0);
  });

  it("swallows the answer to a request that has arrived", async () => {
    await using there = await behind({ kind: "swallow reply", bytes: 0 });
    const giving = new AbortController();
    const asked = there.ask(giving.signal);
    while (there.arrived === 0) await new Promise(setImmediate);
    giving.abort();
    await assert.rejects(asked, { name: "AbortError" });
    assert.equal(there.arrived, 1);
  });

  it("knows what it has swallowed, and that nothing else was", async () => {
    for (const kind of ["swallow request", "swallow reply"] as const) {
      await using there = await behind({ kind, bytes: 0 });
      const giving = new AbortController();
      const asked = there.ask(giving.signal);
      while (!there.line.hasSwallowed("a request")) await new Promise(setImmediate);
      giving.abort();
      await assert.rejects(asked);
      assert(!there.line.hasSwallowed("another request"));
    }
    await using there = await behind({ kind: "cut reply", bytes: 0 });
    await assert.rejects(there.ask());
    assert(!there.line.hasSwallowed("a request"));
  });

  it("sends a request twice, and passes one answer", async () => {
    await using there = await behind({ kind: "twice" });
    assert.equal(await there.ask(), answer);
    while (there.arrived < 2) await new Promise(setImmediate);
    assert.equal(there.arrived, 2);
  });

  it("breaks off everything while it is out, and holds nothing once it is closed", async () => {
    await using there = await behind({ kind: "none" });
    assert.equal(await there.ask(), answer);
    there.line.setOut(true);
    await assert.rejects(there.ask());
    there.line.setOut(false);
    assert.equal(await there.ask(), answer);
    await there.line[Symbol.asyncDispose]();
    assert.equal(there.line.connections, 0);
  });

  it("lets go of a socket that it breaks off while its end is being sent", async () => {
    const server = createSocketServer((socket) => socket.on("error", () => {}).resume());
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const socket = connect((server.address() as AddressInfo).port, "127.0.0.1").on("error", () => {});
    await once(socket, "connect");
    let isClosed = false;
    socket.once("close", () => {
      isClosed = true;
    });
    socket.end();
    reset(socket);
    for (let turn = 0; turn < 1000 && !isClosed; turn++) await new Promise(setImmediate);
    assert(isClosed);
    await new Promise((resolve) => server.close(resolve));
  });
});
