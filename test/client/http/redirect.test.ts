import assert from "node:assert/strict";
import { FakeClock } from "../fakeClock.ts";
import { LoopbackService, orgOnWire, runOnWire, sendJson, testKey } from "../loopbackService.ts";

const clock = new FakeClock();
const { signal } = new AbortController();

describe("a redirect", () => {
  for (const status of [301, 302, 303, 307, 308]) {
    it(`of status ${status} to another origin never carries the key there`, async () => {
      await using thief = await LoopbackService.listen((_, response) => sendJson(response, 200, orgOnWire));
      await using service = await LoopbackService.listen(({ path, headers }, response) => {
        const location = `${thief.origin}${path}?stolen=${headers["x-api-key"]}`;
        response.writeHead(status, { location }).end();
      });
      const client = service.client(clock);
      const start = client.start({ pipeline: "a" }, { waitSeconds: 0, idempotencyKey: "k" }, signal);
      for (const asked of [client.org(signal), client.cancel("run_1", signal), start]) {
        await assert.rejects(asked, (error: Error & { next?: string }) => {
          assert.ok(error.message.includes(`redirects to ${thief.origin}/api/`), error.message);
          assert.ok(!error.message.includes(testKey));
          assert.match(error.next ?? "", /set it as the base URL/);
          return true;
        });
      }
      assert.deepEqual(thief.asked, []);
    });
  }

  it("within the origin isn't followed either, so that nothing is started elsewhere than asked", async () => {
    await using service = await LoopbackService.listen(({ path }, response) => {
      if (path.startsWith("/new")) return sendJson(response, 200, runOnWire());
      response.writeHead(307, { location: `/new${path}` }).end();
    });
    await assert.rejects(service.client(clock).run("run_1", signal), {
      type: "breaks-contract",
      message: `GET /api/runs/run_1: ${new URL(service.origin).host} redirects to ${service.origin}/new/api/runs/run_1; the API key is not sent there.`,
    });
    assert.equal(service.asked.length, 1);
  });

  it("without a place to go is told plainly", async () => {
    await using service = await LoopbackService.listen((_, response) => void response.writeHead(302).end());
    await assert.rejects(service.client(clock).org(signal), { message: /a redirect that leads nowhere/ });
  });
});
