import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import { onBoth, type Store } from "../../service/onBoth.ts";
import { openStream } from "../../service/openStream.ts";
import { serviceOn } from "../../service/serviceOn.ts";
import { programPipeline, startedService, untilCancelled } from "../../service/startedService.ts";
import { until } from "../../until.ts";
import { toolbox } from "../toolbox.ts";

const never = new AbortController().signal;

describe("pipeline orgs", () => {
  it("lists orgs, of the free tier at first, and sets what is named of their limits", async () => {
    await using tool = await toolbox();
    assert.equal((await tool.call(["orgs", "list"])).stderr, "No orgs yet.");
    const none = await tool.call(["orgs", "set", "--runs-per-day", "5"]);
    assert.equal(none.exitCode, 2);
    assert.match(none.stderr, /no org yet[\s\S]*keys create --org/);

    await tool.call(["keys", "create", "--role", "runner", "--all-orgs"]);
    await tool.call(["keys", "create", "--role", "owner", "--org", "Acme"]);
    assert.match(
      (await tool.call(["orgs", "list"])).stdout,
      /^org_\w+\tAcme\ttier free\t1 run at a time, 50 runs a day$/,
    );

    const set = await tool.call(["orgs", "set", "--runs-per-day", "500", "--parallel-runs", "4"]);
    assert.equal(set.stdout, "Acme, tier free: 4 runs at a time, 500 runs a day.");
    const { "org-id": orgId, ...rest } = JSON.parse(
      (await tool.call(["orgs", "set", "--org", "Acme", "--tier", "team", "--json"])).stdout,
    );
    const org = { "org-name": "Acme", tier: "team", limits: { "parallel-runs": 4, "runs-per-day": 500 } };
    assert.deepEqual(rest, { ok: true, command: "orgs set", ...org, warnings: [] });
    const { orgs } = JSON.parse((await tool.call(["orgs", "list", "--json"])).stdout);
    assert.deepEqual(orgs, [{ "org-id": orgId, ...org }]);
  });

  it("changes nothing when it isn't clear what: exit code 2", async () => {
    await using tool = await toolbox();
    for (const org of ["Acme", "Lamps"]) await tool.call(["keys", "create", "--role", "owner", "--org", org]);
    const before = (await tool.call(["orgs", "list"])).stdout;
    const wrong: readonly (readonly [string[], RegExp])[] = [
      [["--runs-per-day", "5"], /several orgs[\s\S]*--org/],
      [["--org", "Nobody", "--runs-per-day", "5"], /No org has that name/],
      [["--org", "*", "--runs-per-day", "5"], /No org has that name/],
      [["--org", "Acme"], /Nothing is set[\s\S]*--parallel-runs/],
      [["--org", "Acme", "--runs-per-day", "0"], /from 1 to 1000000/],
      [["--org", "Acme", "--runs-per-day", "1000001"], /from 1 to 1000000/],
      [["--org", "Acme", "--parallel-runs", "1001"], /from 1 to 1000/],
      [["--org", "Acme", "--parallel-runs", "many"], /from 1 to 1000/],
      [["--org", "Acme", "--tier", " "], /--tier/],
    ];
    for (const [args, message] of wrong) {
      const { exitCode, stderr } = await tool.call(["orgs", "set", ...args]);
      assert.equal(exitCode, 2, args.join(" "));
      assert.match(stderr, message);
    }
    assert.equal((await tool.call(["orgs", "list"])).stdout, before);
  });
});

onBoth("pipeline orgs set beside a running service", (store) => {
  /** A service with a run that holds the slot, and what names its database on a command line. */
  async function started() {
    const { service, where } = await serviceAt(store);
    const tool = await toolbox();
    const { client, secret } = await service.member();
    await service.write("long", programPipeline(untilCancelled));
    const start = (waitSeconds: number) =>
      client.start({ pipeline: "long" }, { idempotencyKey: crypto.randomUUID(), waitSeconds }, never);
    const set = async (...limits: string[]) => {
      const { exitCode, stderr } = await tool.call(["orgs", "set", "--org", "acme", ...limits, ...where]);
      assert.equal(exitCode, 0, stderr);
    };
    assert.equal((await start(0)).kind, "started");
    const waits = () =>
      until(async () => {
        const rows = await service.db.selectFrom("waiters").select("ticket").execute();
        return rows.length > 0;
      });
    return Object.assign(service, {
      ...{ client, secret, start, set, waits },
      async end() {
        await tool[Symbol.asyncDispose]();
        await service[Symbol.asyncDispose]();
      },
    });
  }

  it("starts who waits once more runs may be active, and every face is sent the new limits", async () => {
    const service = await started();
    try {
      await using stream = await openStream(`${service.url}/api/events`, { "x-api-key": service.secret });
      const waiting = service.start(60);
      await service.waits();
      await service.set("--parallel-runs", "2", "--runs-per-day", "500");
      assert.equal((await waiting).kind, "started");
      await stream.events.untilOne(({ data }) =>
        isDeepStrictEqual(data["limits"], { "parallel-runs": 2, "runs-per-day": 500 }),
      );
      const third = await service.start(0);
      assert(third.kind === "refused");
      assert.equal(third.refusal.scope, "org");
    } finally {
      await service.end();
    }
  });

  it("refuses who waits once the day's runs are fewer than are used, and a later start", async () => {
    const service = await started();
    try {
      const waiting = service.start(60);
      await service.waits();
      await service.set("--runs-per-day", "1");
      for (const refused of [await waiting, await service.start(0)]) {
        assert(refused.kind === "refused");
        assert.equal(refused.refusal.scope, "free-day");
      }
    } finally {
      await service.end();
    }
  });
});

async function serviceAt(store: Store) {
  if (store.kind === "SQLite") {
    const service = await startedService();
    return { service, where: ["--data-dir", service.data] };
  }
  const lent = await store.lend();
  return {
    service: await serviceOn({ ...store, lend: async () => lent }),
    where: ["--database", lent.url],
  };
}
