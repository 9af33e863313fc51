import assert from "node:assert/strict";
import {
  ended,
  programPipeline,
  started,
  startedService,
  untilCancelled,
} from "../service/startedService.ts";
import { Visitor } from "./visitor.ts";

describe("the page's guard", () => {
  it("lets nobody see anything without a session", async () => {
    await using service = await startedService();
    const visitor = new Visitor(service);
    for (const path of ["/app", "/app/runs", "/app/runs/run_1", "/app/runs/run_1/log.txt", "/app/nothing"]) {
      const reply = await visitor.get(path);
      assert.equal(reply.status, 303, path);
      assert.equal(await reply.text(), "");
    }
    for (const path of ["/app/runs/cancel-mine", "/app/runs/run_1/cancel"]) {
      const reply = await visitor.post(path, {});
      assert.equal(reply.headers.get("location"), "/app/sign-in?next=%2Fapp%2Fruns", path);
    }
  });

  it("refuses a viewer's forged request with 403", async () => {
    await using service = await startedService();
    const { client } = await service.member();
    await service.write("long", programPipeline(untilCancelled));
    const run = await started(client, "long");
    const viewer = new Visitor(service);
    await viewer.signIn((await service.key("viewer")).secret);
    for (const path of [`/app/runs/${run.runId}/cancel`, "/app/runs/cancel-mine"]) {
      const reply = await viewer.post(path, {});
      assert.equal(reply.status, 403, path);
      assert.match(await reply.text(), /can look, but not start or cancel runs/);
    }
    assert.equal((await client.run(run.runId, AbortSignal.timeout(20_000))).status, "running");
  });

  it("refuses what another site, another port or nothing known has sent", async () => {
    await using service = await startedService();
    const { client, secret } = await service.member();
    await service.write("long", programPipeline(untilCancelled));
    const run = await started(client, "long");
    const visitor = new Visitor(service);
    await visitor.signIn(secret);
    const { port } = new URL(service.url);
    const forged: Record<string, string>[] = [
      { origin: "https://elsewhere.example", "sec-fetch-site": "cross-site" },
      { origin: `http://127.0.0.1:${Number(port) - 1}`, "sec-fetch-site": "same-site" },
      { origin: "null", "sec-fetch-site": "cross-site" },
      { origin: service.url, "sec-fetch-site": "same-site" },
      { origin: "https://elsewhere.example", "sec-fetch-site": "none" },
      { origin: "https://elsewhere.example" },
      {},
    ];
    for (const headers of forged) {
      for (const path of [`/app/runs/${run.runId}/cancel`, "/app/runs/cancel-mine", "/app/sign-out"]) {
        const reply = await visitor.post(path, {}, headers);
        assert.equal(reply.status, 403, `${path} ${JSON.stringify(headers)}`);
      }
      const signIn = await new Visitor(service).post("/app/sign-in", { key: secret }, headers);
      assert.equal(signIn.status, 403);
      assert.equal(signIn.headers.get("set-cookie"), null);
    }
    assert.equal((await client.run(run.runId, AbortSignal.timeout(20_000))).status, "running");
    assert.equal((await visitor.get("/app/runs")).status, 200);
  });

  it("lets its own page post through a proxy that changes the host and speaks TLS", async () => {
    await using service = await startedService();
    const { secret } = await service.member();
    const headers = { origin: "https://runs.example", "sec-fetch-site": "same-origin" };
    const reply = await new Visitor(service).post("/app/sign-in", { key: secret }, headers);
    assert.equal(reply.status, 303);
    assert.notEqual(reply.headers.get("set-cookie"), null);
  });

  it("shows an org nothing of another's", async () => {
    await using service = await startedService();
    const { client } = await service.member();
    await service.write("secret-plan", programPipeline("console.log('the plan')"));
    const run = await started(client, "secret-plan");
    await ended(client, run);
    const stranger = new Visitor(service);
    await stranger.signIn((await service.key("owner", "rivals")).secret);
    assert(!(await stranger.text("/app/runs")).includes("secret-plan"));
    for (const path of [`/app/runs/${run.runId}`, `/app/runs/${run.runId}/log.txt`]) {
      const reply = await stranger.get(path);
      assert.equal(reply.status, 404, path);
      assert(!(await reply.text()).includes("plan"));
    }
    assert.equal((await stranger.post(`/app/runs/${run.runId}/cancel`, {})).status, 404);
  });

  describe("of its replies", () => {
    it("sends a policy without anything unsafe on every reply, and lets none of them be kept", async () => {
      await using service = await startedService();
      const visitor = new Visitor(service);
      await visitor.signIn((await service.key()).secret);
      for (const path of ["/app/runs", "/app/runs/none", "/app/nothing", "/app/sign-in?code=x"]) {
        const { headers } = await visitor.get(path);
        const policy = headers.get("content-security-policy") ?? "";
        assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self';/, path);
        assert.match(policy, /frame-ancestors 'none'; base-uri 'none'$/);
        assert.doesNotMatch(policy, /unsafe|\*|data:/);
        assert.equal(headers.get("cache-control"), "no-store");
        assert.equal(headers.get("x-content-type-options"), "nosniff");
        assert.equal(headers.get("referrer-policy"), "same-origin");
      }
    });

    it("lets a browser keep the style and the script under the address of just this version", async () => {
      await using service = await startedService();
      const visitor = new Visitor(service);
      const page = await visitor.text("/app/sign-in");
      const addresses = [...page.matchAll(/"(\/app\/assets\/[^"]+)"/g)].map(([, address]) => address ?? "");
      assert.equal(new Set(addresses).size, 3);
      for (const address of addresses) {
        const kept = await visitor.get(address);
        assert.equal(kept.status, 200, address);
        assert.match(kept.headers.get("cache-control") ?? "", /immutable/);
        const other = await visitor.get(address.replace(/v=.*/, "v=other"));
        assert.equal(other.headers.get("cache-control"), "no-cache");
      }
      for (const name of ["..%2fcli.js", "cli.js", "constructor"]) {
        assert.notEqual((await visitor.get(`/app/assets/${name}`)).status, 200, name);
      }
    });
  });
});
