import assert from "node:assert/strict";
import { ServiceClient } from "../../../src/client/service/client.ts";
import { environmentFetch } from "../../../src/client/service/environmentFetch.ts";
import { PipelineError } from "../../../src/contract/errors.ts";
import { certificate, trusting } from "../../certificate.ts";
import { FakeClock } from "../../clock/fakeClock.ts";
import { ConnectProxy } from "../../connectProxy.ts";
import { type Answer, LoopbackService, orgOnWire, runOnWire, sendJson, testKey } from "../loopbackService.ts";

const clock = new FakeClock();
const { signal } = new AbortController();
const authority = certificate({ host: "test authority", isAuthority: true });
const ofService = certificate({ host: "service.example", issuer: authority });

const calls: [string, (client: ServiceClient) => Promise<unknown>][] = [
  ["GET", (client) => client.org(signal)],
  ["POST", (client) => client.cancel("run_1", signal)],
  ["a start", (client) => client.start({ pipeline: "a" }, { waitSeconds: 0, idempotencyKey: "k" }, signal)],
  ["PUT", (client) => client.putProject("lamps", "/lamps", signal)],
];

interface Way extends AsyncDisposable {
  readonly client: ServiceClient;
  readonly service: LoopbackService;
}

/** The ways to a service: Node's fetch as in the editor, the tool's to this machine, and the tool's through a proxy. */
const ways: [string, (answer: Answer) => Promise<Way>][] = [
  [
    "from the editor",
    async (answer) => {
      const service = await LoopbackService.listen(answer);
      return {
        service,
        client: service.client(clock),
        [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
      };
    },
  ],
  [
    "on this machine",
    async (answer) => {
      const service = await LoopbackService.listen(answer);
      const fetch = environmentFetch(new URL(service.origin), {});
      const client = service.client(clock, { fetch });
      return { service, client, [Symbol.asyncDispose]: () => service[Symbol.asyncDispose]() };
    },
  ],
  [
    "through a proxy",
    async (answer) => {
      const service = await LoopbackService.listen(answer, ofService);
      const proxy = await ConnectProxy.listen(service.port);
      const baseUrl = new URL("https://service.example/");
      const fetch = environmentFetch(baseUrl, { HTTPS_PROXY: `http://${proxy.host}` });
      const client = new ServiceClient({ baseUrl, apiKey: testKey, clock, fetch, retries: {} });
      return {
        service,
        client,
        async [Symbol.asyncDispose]() {
          await proxy[Symbol.asyncDispose]();
          await service[Symbol.asyncDispose]();
        },
      };
    },
  ],
];

async function refusal(asked: Promise<unknown>): Promise<PipelineError> {
  try {
    await asked;
  } catch (error) {
    if (error instanceof PipelineError) return error;
    throw error;
  }
  return assert.fail("the redirect was followed");
}

describe("a redirect", () => {
  let trust: Disposable;
  before(() => {
    trust = trusting(authority);
  });
  after(() => trust[Symbol.dispose]());

  for (const [from, reach] of ways) {
    for (const status of [301, 302, 303, 307, 308]) {
      it(`of status ${status} to another origin never carries the key there, ${from}`, async () => {
        await using thief = await LoopbackService.listen((_, response) => sendJson(response, 200, orgOnWire));
        await using way = await reach(({ path, headers }, response) => {
          const location = `${thief.origin}${path}?stolen=${headers["x-api-key"]}`;
          response.writeHead(status, { location }).end();
        });
        for (const [, call] of calls) {
          const error = await refusal(call(way.client));
          assert.equal(error.type, "breaks-contract");
          assert.ok(error.message.includes(`redirects to ${thief.origin}/api/`), error.message);
          assert.match(error.message, /; the API key is not sent there\.$/);
          assert.ok(!error.message.includes(testKey));
          assert.equal(
            error.next,
            `If that is the service's new address, set ${thief.origin}/ as the base URL.`,
          );
        }
        assert.deepEqual(thief.asked, []);
        assert.equal(way.service.asked.length, calls.length, "each was asked once");
      });
    }

    it(`within the origin isn't followed either, so that nothing is started elsewhere than asked, ${from}`, async () => {
      await using way = await reach(({ path }, response) => {
        if (path.startsWith("/new")) return sendJson(response, 200, runOnWire());
        response.writeHead(307, { location: `/new${path}` }).end();
      });
      const { origin, host } = way.client.baseUrl;
      const error = await refusal(way.client.run("run_1", signal));
      assert.equal(
        error.message,
        `GET /api/runs/run_1: ${host} redirects to ${origin}/new/api/runs/run_1; redirects are not followed.`,
      );
      assert.equal(error.next, `If that is the service's new address, set ${origin}/new/ as the base URL.`);
      assert.equal(way.service.asked.length, 1);
    });

    it(`to itself is no loop, ${from}`, async () => {
      await using way = await reach(
        ({ path }, response) => void response.writeHead(308, { location: path }).end(),
      );
      for (const [, call] of calls) await refusal(call(way.client));
      assert.equal(way.service.asked.length, calls.length);
    });

    it(`that the caller doesn't read leaves no connection behind, ${from}`, async () => {
      await using way = await reach((_, response) => {
        response.writeHead(302, { location: "/" }).write("a page that never ends");
      });
      await refusal(way.client.org(signal));
      await way.service.until(() => way.service.left === 1);
    });
  }

  const targets: [string, string, RegExp, RegExp][] = [
    [
      "another host",
      "https://other.example/api/org",
      /redirects to https:\/\/other\.example\/api\/org; the API key is not sent there\.$/,
      /set https:\/\/other\.example\/ as the base URL/,
    ],
    [
      "another port and path",
      "https://localhost:9/v2/api/org?x=1#y",
      /redirects to https:\/\/localhost:9\/v2\/api\/org; the API key/,
      /set https:\/\/localhost:9\/v2\/ as the base URL/,
    ],
    [
      "plain http",
      "http://other.example/api/org",
      /redirects to http:\/\/other\.example\/api\/org; the API key/,
      /^An address that begins with http: can't be the base URL\.$/,
    ],
    [
      "a page to sign in at",
      "https://login.example/sign-in?next=1",
      /redirects to https:\/\/login\.example\/sign-in; the API key/,
      /needs an address that the API key alone opens/,
    ],
    ["another scheme", "javascript:alert(1)", /the API key is not sent there/, /./],
    [
      "a file",
      "file:///etc/passwd",
      /redirects to file:\/\/\/etc\/passwd; the API key is not sent there/,
      /./,
    ],
    ["a name and a password", "https://me:pw@other.example/api/org", /to https:\/\/other\.example\/api/, /./],
    ["control characters", "https://o.example/\u001b[31m", /^[\x20-\x7e]+$/, /^[\x20-\x7e]+$/],
  ];
  for (const [where, location, message, next] of targets) {
    it(`to ${where} is told plainly`, async () => {
      await using service = await LoopbackService.listen(
        (_, response) => void response.writeHead(302, { location: encodeURI(location) }).end(),
      );
      const error = await refusal(service.client(clock).org(signal));
      assert.match(error.message, message);
      assert.match(error.next, next);
    });
  }

  it("without a place to go is told plainly", async () => {
    await using service = await LoopbackService.listen((_, response) => void response.writeHead(302).end());
    await assert.rejects(service.client(clock).org(signal), { message: /a redirect that leads nowhere/ });
  });
});
