import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Server, type Socket } from "node:net";
import { setImmediate as turn } from "node:timers/promises";
import { ServiceClient } from "../../../src/client/service/client.ts";
import { testKey } from "../../client/loopbackService.ts";
import { FakeClock } from "../../clock/fakeClock.ts";
import { agentAt } from "./heldServer.ts";

/** In seconds: clients give up after 60. */
const longestCall = 45;

describe("an agent's call to a service that never answers", () => {
  let server: Server;
  let sockets: Socket[];
  beforeEach(async () => {
    sockets = [];
    server = createServer((socket) => {
      sockets.push(socket);
      // Ignored: the client resets what it gives up.
      socket.on("error", () => {});
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
  });
  afterEach(async () => {
    for (const socket of sockets) socket.destroy();
    await once(server.close(), "close");
  });

  for (const [tool, input, seconds] of [
    ["start_run", { pipeline: "nightly" }, 10],
    ["wait_for_run", { "run-id": "run_1" }, 40],
  ] as const) {
    it(`is over within ${longestCall} s: ${tool}`, async () => {
      const clock = new FakeClock();
      const address = server.address();
      assert(address !== null && typeof address === "object");
      const baseUrl = new URL(`http://127.0.0.1:${address.port}/`);
      await using agent = await agentAt(new ServiceClient({ baseUrl, apiKey: testKey, clock }), clock);
      let end: number | undefined;
      const called = agent.call(tool, input).finally(() => {
        end = clock.monotonic();
      });
      await once(server, "connection");
      while (end === undefined) {
        // In small steps, so that a connection that is made or given up takes little of this time.
        if (clock.alarms > 0) clock.advance(100);
        await turn();
      }
      const { isError, text } = await called;
      assert.equal(isError, true);
      assert.match(text, new RegExp(`within ${seconds} s`));
      assert.ok(end <= longestCall * 1000, `it took ${end} ms`);
      assert.equal(clock.alarms, 0);
    });
  }
});
