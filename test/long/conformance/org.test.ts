import assert from "node:assert/strict";
import { programPipeline } from "../../service/startedService.ts";
import { at, givenKey, givenService } from "./givenService.ts";
import { row } from "./row.ts";
import { type Member, type ServedTool, servedTool } from "./servedTool.ts";
import type { Told } from "./watchedTool.ts";

describe("conformance: the org", () => {
  /** What the service answers to a member, and what the tool prints of it: the same. */
  interface BothOrgs {
    readonly wire: Told;
    readonly told: Told;
    readonly member: Member;
    readonly name: string;
  }
  let served: ServedTool;
  let both: BothOrgs;
  before(async () => {
    served = await servedTool();
    await served.write("hello", programPipeline(""));
    const name = "Lamps & Söhne";
    const member = await served.member("member", name);
    const { told } = await served.json(["org"], member.env);
    both = { wire: await member.told("GET", "/api/org"), told, member, name };
  });
  after(() => served[Symbol.asyncDispose]());

  row("description, Org: org-id", "is a string, the org's own, on the wire and in the tool", async () => {
    const { wire, told, member } = both;
    assert.equal(typeof wire["org-id"], "string");
    assert.equal(wire["org-id"], member.orgId);
    assert.equal(told["org-id"], member.orgId);
    const other = await served.member();
    assert.notEqual((await other.told("GET", "/api/org"))["org-id"], member.orgId);
  });

  row("description, Org: org-name", "is a string, the name as it was given", async () => {
    const { wire, told, name } = both;
    assert.equal(wire["org-name"], name);
    assert.equal(told["org-name"], name);
  });

  row("description, Org: tier", "is `free` for a new org, and any other is told as it is", async () => {
    const { wire, told } = both;
    assert.equal(wire.tier, "free");
    assert.equal(told.tier, "free");
    await using other = await givenService({ org: { tier: "gold plus" } });
    assert.equal((await served.json(["org"], at(other))).told.tier, "gold plus");
  });

  row("description, Org: limits", "is an object of two whole numbers", async () => {
    const { wire, told } = both;
    assert.deepEqual(Object.keys(wire.limits).sort(), ["parallel-runs", "runs-per-day"]);
    assert(Object.values(wire.limits).every(Number.isInteger));
    assert.deepEqual(told.limits, wire.limits);
  });

  row("description, Org: usage", "is an object that has the use so far", async () => {
    const { wire, told } = both;
    assert.deepEqual(wire.usage, { "runs-today": 0 });
    assert.deepEqual(told.usage, wire.usage);
  });

  row("description, Org: actor", "is the id of the key in the request", async () => {
    const { wire, told, member, name } = both;
    assert.equal(wire.actor, member.keyId);
    assert.equal(told.actor, member.keyId);
    const second = await served.member("owner", name);
    assert.notEqual(second.keyId, member.keyId);
    assert.equal((await second.told("GET", "/api/org")).actor, second.keyId);
  });

  row("description, Org: parallel-runs", "is 1 on the free tier", async () => {
    const { wire, told } = both;
    assert.equal(wire.limits["parallel-runs"], 1);
    assert.equal(told.limits["parallel-runs"], 1);
  });

  row("description, Org: runs-per-day", "is 50 on the free tier", async () => {
    const { wire, told } = both;
    assert.equal(wire.limits["runs-per-day"], 50);
    assert.equal(told.limits["runs-per-day"], 50);
  });

  row(
    "description, Org: runs-today",
    "counts the runs of today, by whichever face they were started",
    async () => {
      const someone = await served.member();
      const { "run-id": runId } = await someone.start("hello");
      await someone.stopped(runId);
      assert.equal((await someone.told("GET", "/api/org")).usage["runs-today"], 1);
      assert.equal((await served.run(["run", "hello"], someone.env)).exitCode, 0);
      assert.equal((await served.calledJson(["org"], someone.env)).told.usage["runs-today"], 2);
    },
  );

  row(
    "description, Endpoints: GET /api/org",
    "answers to a key in `x-api-key`, and to nobody else",
    async () => {
      const someone = await served.member("viewer");
      assert.deepEqual(Object.keys(await someone.told("GET", "/api/org")).sort(), [
        "actor",
        "limits",
        "org-id",
        "org-name",
        "tier",
        "usage",
      ]);
      assert.equal((await fetch(`${served.url}/api/org`)).status, 401);
      assert.equal(
        (await fetch(`${served.url}/api/org`, { headers: { authorization: `Bearer ${someone.secret}` } }))
          .status,
        401,
      );
      await using given = await givenService();
      assert.equal((await served.run(["org"], at(given))).exitCode, 0);
      const [asked, ...again] = given.asked.filter(({ path }) => path === "/api/org");
      assert.deepEqual(again, [], "the org is asked for once");
      assert.equal(asked?.method, "GET");
      assert.equal(asked?.headers["x-api-key"], givenKey);
    },
  );

  row(
    "contract, Endpoints: GET /api/org",
    "has these fields and no other on the wire, in the tool also its own",
    async () => {
      const { wire, told, member } = both;
      const reply = await member.ask("GET", "/api/org");
      assert.match(reply.headers.get("content-type") ?? "", /^application\/json/);
      assert.deepEqual(await reply.json(), wire);
      assert.deepEqual(wire, {
        "org-id": member.orgId,
        "org-name": both.name,
        tier: "free",
        limits: { "parallel-runs": 1, "runs-per-day": 50 },
        usage: { "runs-today": 0 },
        actor: member.keyId,
      });
      const { ok, command, warnings, ...org } = told;
      assert.deepEqual({ ok, command, warnings }, { ok: true, command: "org", warnings: [] });
      for (const [field, value] of Object.entries(wire)) assert.deepEqual(org[field], value, field);
    },
  );

  row("description, Endpoints: rule 3", "a viewer, a member and an owner read the org", async () => {
    const readers = ["viewer", "member", "owner"] as const;
    await Promise.all(
      readers.map(async (role) => {
        const { ask, env } = await served.member(role);
        assert.equal((await ask("GET", "/api/org")).status, 200, role);
        assert.equal((await served.call(["org"], env)).exitCode, 0, role);
      }),
    );
  });

  row(
    "description, What the service does: rule 1",
    "each org has a slot and 50 runs of its own",
    async () => {
      const [one, other] = [await served.member(), await served.member()];
      await served.write("until-cancelled", programPipeline("setInterval(() => {}, 1e6)"));
      const [first, second] = [await one.start("until-cancelled"), await other.start("until-cancelled")];
      assert.equal((await one.ask("POST", "/api/runs", { body: { pipeline: "hello" } })).status, 429);
      for (const [someone, run] of [
        [one, first],
        [other, second],
      ] as const) {
        assert.equal((await someone.told("GET", "/api/org")).usage["runs-today"], 1);
        await someone.told("POST", `/api/runs/${run["run-id"]}/cancel`);
      }
    },
  );

  row(
    "description, Authentication: rule 1",
    "every request of the tool has the key in `x-api-key`, and nowhere else",
    async () => {
      await using given = await givenService();
      const commands = [["org"], ["run", "hello"], ["runs", "cancel", "run_1"], ["runs", "cancel", "--mine"]];
      await Promise.all(commands.map((command) => served.run(command, at(given))));
      assert(given.asked.length >= 4);
      for (const { headers, path, body } of given.asked) {
        const { "x-api-key": key, ...others } = headers;
        assert.equal(key, givenKey);
        assert(!JSON.stringify([others, path, body]).includes(givenKey));
      }
    },
  );

  row(
    "description, API key: rule 1",
    "a key's id is told when it is made, and is the actor of its requests",
    async () => {
      const made = await served.json(["keys", "create", "--role", "viewer", "--org", "Keys"]);
      const env = { PIPELINE_BASE_URL: served.url, PIPELINE_API_KEY: made.told["api-key"] };
      assert.equal((await served.calledJson(["org"], env)).told.actor, made.told["key-id"]);
    },
  );
});
