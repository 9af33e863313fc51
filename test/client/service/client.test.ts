import assert from "node:assert/strict";
import { inspect } from "node:util";
import { ServiceClient } from "../../../src/client/service/client.ts";
import { AbsentEndpoint } from "../../../src/client/service/replyErrors.ts";
import { PipelineError } from "../../../src/contract/errors.ts";
import { FakeClock } from "../../clock/fakeClock.ts";
import { type Answer, LoopbackService, orgOnWire, runOnWire, sendJson, testKey } from "../loopbackService.ts";

const clock = new FakeClock();
const { signal } = new AbortController();

/** What a call to a service that answers as told throws. */
async function thrown(
  answer: Answer,
  call: (client: ServiceClient) => Promise<unknown>,
): Promise<PipelineError> {
  await using service = await LoopbackService.listen(answer);
  try {
    await call(service.client(clock));
  } catch (error) {
    if (error instanceof PipelineError) {
      for (let shown: unknown = error; shown instanceof Error; shown = shown.cause) {
        assert.ok(!inspect(shown).includes(testKey), "no error holds the key");
      }
      return error;
    }
    throw error;
  }
  return assert.fail("nothing was thrown");
}

describe("the client of a service", () => {
  const project = { name: "lamps", root: "/home/me/lamps" };
  const pipelines = [
    { name: "nightly", project: "lamps", path: "pipelines/nightly.yaml", "resource-types": ["http"] },
  ];
  const calls: [string, string, unknown, (client: ServiceClient) => Promise<unknown>][] = [
    ["GET", "/api/org", orgOnWire, (client) => client.org(signal)],
    [
      "POST",
      "/api/runs/run_1/cancel",
      { "run-id": "run_1", status: "cancelling" },
      (client) => client.cancel("run_1", signal),
    ],
    ["GET", "/api/runs/run_1", runOnWire(), (client) => client.run("run_1", signal)],
    ["GET", "/api/runs", { runs: [runOnWire()] }, (client) => client.runs({}, signal)],
    [
      "GET",
      "/api/runs?status=in-work&actor=me&project=two+words&limit=5&after=c%2F1",
      { runs: [], next: "c2" },
      (client) =>
        client.runs({ active: true, mine: true, project: "two words", limit: 5, after: "c/1" }, signal),
    ],
    ["GET", "/api/pipelines", { pipelines }, (client) => client.pipelines(undefined, signal)],
    ["GET", "/api/pipelines?project=lamps", { pipelines }, (client) => client.pipelines("lamps", signal)],
    ["PUT", "/api/projects/lamps", project, (client) => client.putProject("lamps", project.root, signal)],
    ["GET", "/healthz", { ok: true, instance: "i1" }, (client) => client.health(signal)],
  ];
  for (const [method, path, body, call] of calls) {
    it(`asks ${method} ${path}`, async () => {
      await using service = await LoopbackService.listen((_, response) => sendJson(response, 200, body));
      assert.ok(await call(service.client(clock)));
      const [asked] = service.asked;
      assert.equal(service.asked.length, 1);
      assert.equal(asked?.method, method);
      assert.equal(asked.path, path);
      assert.equal(asked.headers["x-api-key"], path === "/healthz" ? undefined : testKey);
      assert.equal(clock.alarms, 0);
    });
  }

  it("keeps the path of the base URL", async () => {
    await using service = await LoopbackService.listen((_, response) => sendJson(response, 200, orgOnWire));
    await service.client(clock, { path: "/x/y/" }).org(signal);
    assert.equal(service.asked[0]?.path, "/x/y/api/org");
  });

  it("sends a body in the names of the wire", async () => {
    await using service = await LoopbackService.listen((_, response) => sendJson(response, 201, runOnWire()));
    const options = { waitSeconds: 7, idempotencyKey: "k1" };
    await service.client(clock).start({ pipeline: "nightly", timeLimitSeconds: 60 }, options, signal);
    const [asked] = service.asked;
    assert.deepEqual(JSON.parse(asked?.body ?? ""), { pipeline: "nightly", "time-limit-seconds": 60 });
    assert.equal(asked?.headers["content-type"], "application/json");
    assert.equal(asked.headers["prefer"], "wait=7");
    assert.equal(asked.headers["idempotency-key"], "k1");
  });

  it("takes a 429 for a refusal by its status alone, also when its body is too large to be read", async () => {
    const body = "x".repeat(5 * 1024 * 1024);
    await using service = await LoopbackService.listen(
      (_, response) => void response.writeHead(429).end(body),
    );
    const options = { waitSeconds: 0, idempotencyKey: "k1" };
    const attempt = await service.client(clock).start({ pipeline: "nightly" }, options, signal);
    assert.deepEqual(attempt.kind === "refused" && attempt.refusal, { scope: "org" });
  });

  it("lets no id or name lead to another endpoint", async () => {
    await using service = await LoopbackService.listen((_, response) => sendJson(response, 200, runOnWire()));
    const client = service.client(clock);
    for (const id of ["", ".", "..", "\ud800"]) {
      await assert.rejects(client.run(id, signal), { type: "invalid-request" });
      await assert.rejects(client.cancel(id, signal), { type: "invalid-request" });
      await assert.rejects(client.putProject(id, "/", signal), { type: "invalid-request" });
    }
    assert.equal(service.asked.length, 0);
    await client.run("../org?x#y", signal);
    assert.equal(service.asked[0]?.path, "/api/runs/..%2Forg%3Fx%23y");
  });

  it("takes no key that a header can't carry, and doesn't repeat it", () => {
    for (const apiKey of ["", "se cret", "secret\r\nx: y", "secrét"]) {
      const make = () => new ServiceClient({ baseUrl: new URL("http://127.0.0.1/"), apiKey });
      assert.throws(make, (error) => error instanceof PipelineError && !/s[e ]+cr/.test(error.message));
    }
  });

  it("does not show the key when it is printed", () => {
    const client = new ServiceClient({ baseUrl: new URL("http://127.0.0.1/"), apiKey: testKey });
    assert.ok(!inspect(client, { depth: 9, showHidden: true, getters: false }).includes(testKey));
    assert.ok(!JSON.stringify(client).includes(testKey));
  });

  describe("tells an error of the service", () => {
    const errors: [number, string][] = [
      [401, "unauthorized"],
      [403, "forbidden"],
      [404, "not-found"],
      [409, "conflict"],
      [413, "payload-too-large"],
      [400, "invalid-request"],
      [500, "internal"],
    ];
    for (const [status, type] of errors) {
      it(`of type ${type} with the service's own words`, async () => {
        const error = await thrown(
          (_, response) => sendJson(response, status, { error: { type, message: "Because I say so." } }),
          (client) => client.run("run_1", signal),
        );
        assert.equal(error.type, type);
        assert.equal(error.message, "Because I say so.");
        assert.ok(!(error instanceof AbsentEndpoint));
      });
    }

    it("tells what a proxy finds too large from what the service does", async () => {
      const error = await thrown(
        (_, response) => response.writeHead(413, { "content-type": "text/html" }).end("<h1>413</h1>"),
        (client) => client.run("run_1", signal),
      );
      assert.equal(error.type, "payload-too-large");
      assert.match(error.next, /in front of the service.*client_max_body_size/);
    });

    const shapes: [string, number, unknown, string, RegExp][] = [
      [
        "a problem of RFC 9457",
        409,
        { type: "about:blank", title: "t", detail: "It has stopped." },
        "conflict",
        /It has stopped\.$/,
      ],
      ["a text as the error", 403, { error: "not yours" }, "forbidden", /: not yours\.$/],
      ["a message at the top", 400, { message: "no" }, "invalid-request", /: no\.$/],
      [
        "a type that nobody knows",
        500,
        { error: { type: "moon-phase", message: "wait" } },
        "out-of-reach",
        /: wait\.$/,
      ],
      ["nothing to read", 401, "", "unauthorized", /answered 401 to GET \/api\/org\.$/],
      ["a status that nobody expects", 418, {}, "breaks-contract", /answered 418/],
      ["a bad gateway", 502, "", "out-of-reach", /answered 502/],
      ["a limit of another kind", 429, {}, "out-of-reach", /answered 429/],
    ];
    for (const [name, status, body, type, message] of shapes) {
      it(`in another shape: ${name}`, async () => {
        const error = await thrown(
          (_, response) => sendJson(response, status, body, { "retry-after": "9" }),
          (client) => client.org(signal),
        );
        assert.equal(error.type, type);
        assert.match(error.message, message);
        if (status === 429) assert.equal(error.next, "Try again in 9 s.");
      });
    }

    it("without the key, line breaks and control characters that it may repeat", async () => {
      const error = await thrown(
        ({ headers }, response) =>
          sendJson(response, 401, {
            error: { type: "unauthorized", message: `No\n key\u001b[31m ${headers["x-api-key"]}` },
          }),
        (client) => client.org(signal),
      );
      assert.equal(error.message, "No key [31m (the API key)");
    });

    it("line by line when it refuses a request, which may be for several things", async () => {
      const error = await thrown(
        ({ headers }, response) =>
          sendJson(response, 400, {
            error: {
              type: "invalid-request",
              message: `No:\r\na\u001b[31m ${headers["x-api-key"]}\n\nb${"\nc".repeat(100)}`,
            },
          }),
        (client) => client.org(signal),
      );
      assert.equal(error.message, `No:\na [31m (the API key)\nb${"\nc".repeat(57)}\n…`);
    });

    it("of any length in a few words", async () => {
      const error = await thrown(
        (_, response) =>
          sendJson(response, 500, { error: { type: "internal", message: "ä".repeat(100_000) } }),
        (client) => client.org(signal),
      );
      assert.ok(error.message.length < 500);
    });
  });

  describe("takes out of the texts of a good answer what a terminal would obey", () => {
    it("control characters, line breaks but in sentences, and what turns the writing", async () => {
      const title = "\u001b]0;owned\u0007";
      await using service = await LoopbackService.listen(({ path }, response) =>
        path === "/api/org"
          ? sendJson(response, 200, { ...orgOnWire, "org-name": `La${title}mps\u009b2J\r\nof\u202e mine` })
          : sendJson(
              response,
              200,
              runOnWire({
                status: "run\u0008ning\u001b[2J",
                reason: `one\u001b[31m\r\n\ttwo`,
                steps: [{ name: `it\n${title}`, type: "cli", status: "x\u007f", message: "a\n\tb\u0000" }],
              }),
            ),
      );
      const client = service.client(clock);
      assert.equal((await client.org(signal)).orgName, "La]0;ownedmps2J of mine");
      const run = await client.run("run_1", signal);
      assert.equal(run.status, "running[2J");
      assert.equal(run.reason, "one[31m\n\ttwo");
      const [step] = run.steps ?? [];
      assert.deepEqual([step?.name, step?.status, step?.message], ["it ]0;owned", "x", "a\n\tb"]);
    });

    it("the API key, also one that is put together again", async () => {
      const { length } = testKey;
      const halves = `${testKey.slice(0, length / 2)}\u0000${testKey.slice(length / 2)}`;
      await using service = await LoopbackService.listen((_, response) =>
        sendJson(response, 200, { ...orgOnWire, "org-name": `${testKey} ${halves}`, actor: testKey }),
      );
      const org = await service.client(clock).org(signal);
      assert.equal(org.orgName, "(the API key) (the API key)");
      assert.equal(org.actor, "(the API key)");
    });

    it("but nothing of a key that is too short to be a secret", async () => {
      await using service = await LoopbackService.listen((_, response) => sendJson(response, 200, orgOnWire));
      const client = new ServiceClient({ baseUrl: new URL(service.origin), apiKey: "a", clock });
      assert.equal((await client.org(signal)).orgName, "Lamps");
    });
  });

  it("tells apart an endpoint that the service lacks from a run that it doesn't have", async () => {
    for (const status of [404, 405, 501]) {
      const error = await thrown(
        (_, response) =>
          void response.writeHead(status, { "content-type": "text/html" }).end("<h1>Nothing here</h1>"),
        (client) => client.runs({}, signal),
      );
      assert.ok(error instanceof AbsentEndpoint);
      assert.match(error.message, /^127\.0\.0\.1:\d+ has no GET \/api\/runs\.$/);
    }
  });

  it("takes a missing org endpoint for something else than the service", async () => {
    const error = await thrown(
      (_, response) => void response.writeHead(404).end("Not Found"),
      (client) => client.org(signal),
    );
    assert.equal(error.type, "breaks-contract");
  });

  it("takes a 404 of a cancel for a run that isn't there, in whatever shape", async () => {
    const error = await thrown(
      (_, response) => void response.writeHead(404).end("Not Found"),
      (client) => client.cancel("run_9", signal),
    );
    assert.equal(error.type, "not-found");
    assert.ok(!(error instanceof AbsentEndpoint));
  });

  describe("names what breaks the contract", () => {
    const broken: [string, string, string, RegExp][] = [
      [
        "a wrong field",
        "application/json",
        JSON.stringify({ ...orgOnWire, usage: { "runs-today": "7" } }),
        /^GET \/api\/org: `usage\.runs-today` should be a whole number\.$/,
      ],
      ["a missing field", "application/json", "{}", /^GET \/api\/org: `org-id` is missing/],
      ["no JSON", "text/plain", "fine, thanks", /^GET \/api\/org: the answer is not JSON\.$/],
      ["half a JSON", "application/json", '{"org-id":', /the answer is not JSON\.$/],
      [
        "a web page",
        "text/html; charset=utf-8",
        "<!doctype html><p>Sign in</p>",
        /^GET \/api\/org: the answer is a web page, not JSON\.$/,
      ],
      ["a web page that says to be JSON", "application/json", " <html>", /a web page/],
      ["nothing", "application/json", "", /the answer is empty\.$/],
      ["another value", "application/json", "null", /the body should be an object\.$/],
    ];
    for (const [name, type, body, message] of broken) {
      it(`by ${name}`, async () => {
        const error = await thrown(
          (_, response) => void response.writeHead(200, { "content-type": type }).end(body),
          (client) => client.org(signal),
        );
        assert.equal(error.type, "breaks-contract");
        assert.match(error.message, message);
      });
    }

    it("by more than 4 MiB, without reading them all", async () => {
      let written = 0;
      const error = await thrown(
        async (_, response, gone) => {
          response.writeHead(200, { "content-type": "application/json" });
          const chunk = Buffer.alloc(1024 * 1024, " ");
          while (!gone.aborted && written < 64) {
            written += 1;
            if (!response.write(chunk)) {
              await new Promise((resolve) => {
                response.once("drain", resolve);
                response.once("close", resolve);
              });
            }
          }
          response.end();
        },
        (client) => client.org(signal),
      );
      assert.equal(error.type, "breaks-contract");
      assert.match(error.message, /larger than 4 MiB/);
      assert.ok(written < 64);
    });
  });
});
