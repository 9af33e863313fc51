import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { secondsToReset } from "../../../src/contract/limits.ts";
import { FakeClock } from "../../clock/fakeClock.ts";
import { isAlive } from "../../isAlive.ts";
import { fillDay } from "../../service/fillDay.ts";
import {
  programPipeline,
  startedService,
  untilCancelled,
  writePid,
  writtenPid,
} from "../../service/startedService.ts";
import { at, startsAnswered } from "./givenService.ts";
import { row, rowCase } from "./row.ts";
import { type Member, type ServedTool, servedTool } from "./servedTool.ts";
import type { Told } from "./watchedTool.ts";

const resourceTypes = ["http", "sql", "browser", "cli"];

describe("conformance: limits, states and transitions", () => {
  let served: ServedTool;
  before(async () => {
    served = await servedTool();
    await served.write("hello", programPipeline(""));
    await served.write("long", programPipeline(untilCancelled, "1h"));
    await served.write("unlimited", programPipeline(untilCancelled).replace("time-limit: 30s\n", ""));
  });
  after(() => served[Symbol.asyncDispose]());

  const used = async (someone: Member): Promise<number> =>
    (await someone.told("GET", "/api/org")).usage["runs-today"];
  const refusedStart = async (
    someone: Member,
    pipeline = "hello",
  ): Promise<{ reply: Response; error: Told }> => {
    const reply = await someone.ask("POST", "/api/runs", { body: { pipeline, project: "shop" } });
    const body: Told = await reply.json();
    return { reply, error: body.error };
  };
  const cancel = (someone: Member, run: Told): Promise<Told> =>
    someone.told("POST", `/api/runs/${run["run-id"]}/cancel`);
  /** A member of an org that has used up its day. */
  const usedUp = async (): Promise<Member> => {
    const someone = await served.member();
    await fillDay(served.data, 50, Date.now(), someone.orgId, someone.orgId);
    return someone;
  };
  const runsOf = async (someone: Member): Promise<number> =>
    (await someone.told("GET", "/api/runs?limit=100")).runs.length;

  row(
    ["description, States and transitions: run in work", "description, States and transitions: rule 1"],
    "is cancelled by a member, and holds its slot until it has stopped",
    async () => {
      const someone = await served.member();
      const run = await someone.start("long");
      assert.equal((await refusedStart(someone)).error.scope, "org");
      const told = await cancel(someone, run);
      assert.deepEqual(Object.keys(told).sort(), ["run-id", "status"]);
      assert.equal(told["run-id"], run["run-id"]);
      assert.equal(typeof told.status, "string");
      const waiting = await someone.told("POST", "/api/runs", {
        body: { pipeline: "hello", project: "shop" },
        headers: { prefer: "wait=30" },
      });
      const stopped = await someone.told("GET", `/api/runs/${run["run-id"]}`);
      assert.equal(stopped.status, "cancelled");
      assert(stopped["stopped-at"] <= waiting["created-at"]);
    },
  );

  row(
    "description, Errors: Daily count of 50 reached",
    "the tool prints the seconds to wait, names `free-day` and ends with 5",
    async () => {
      const someone = await usedUp();
      const before = secondsToReset(Date.now());
      const { exitCode, stdout } = await served.run(["run", "hello"], someone.env);
      assert.equal(exitCode, 5);
      const told: Told = JSON.parse(stdout);
      assert.equal(told.error.type, "too-many-runs");
      assert.match(told.error.message, /\bfree-day\b/);
      const seconds = Number(/(\d+) s$/.exec(told.hints[0].doc)?.[1]);
      assert(seconds <= before && seconds >= before - 60);
      assert.match(told.error.message, new RegExp(`\\b${seconds}\\b`));
    },
  );

  row(
    ["description, Limits: Runs a day", "contract, Limits: 51st run of the day"],
    "50 an org, which its projects and its keys share: the 50th is run, the next is 429 of scope `free-day`",
    async () => {
      const someone = await served.member("member", "Shared");
      const other = await served.member("owner", "Shared");
      await someone.ask("PUT", "/api/projects/second", { body: { root: served.project } });
      await fillDay(served.data, 48, Date.now(), someone.orgId, someone.orgId);
      const first = await someone.start("hello");
      await someone.stopped(first["run-id"]);
      const second = await other.start("hello", { project: "second" });
      await other.stopped(second["run-id"]);
      assert.equal(await used(someone), 50);
      assert.equal(await used(other), 50);
      for (const project of ["shop", "second"]) {
        const reply = await someone.ask("POST", "/api/runs", { body: { pipeline: "hello", project } });
        const { error }: Told = await reply.json();
        assert.deepEqual([reply.status, error.type, error.scope], [429, "too-many-runs", "free-day"]);
      }
    },
  );

  row("description, Limits: Reset of the count", "the count starts again at 00:00 UTC", async () => {
    const clock = new FakeClock("2026-03-03T23:59:58Z");
    await using service = await startedService({ clock });
    await service.write("hello", programPipeline(""));
    const { secret, orgId } = await service.member();
    await fillDay(service.data, 50, clock.now(), orgId);
    const headers = { "x-api-key": secret, "content-type": "application/json" };
    const start = () => service.fetch("/api/runs", { method: "POST", headers, body: '{"pipeline":"hello"}' });
    const countOf = async (): Promise<number> => {
      const org: Told = await (await service.fetch("/api/org", { headers })).json();
      return org.usage["runs-today"];
    };
    const refused = await start();
    assert.equal(refused.status, 429);
    assert.equal(refused.headers.get("retry-after"), "2");
    assert.equal(await countOf(), 50);
    clock.advance(1_999);
    assert.equal((await start()).status, 429);
    clock.advance(1);
    assert.equal(await countOf(), 0);
    assert.equal((await start()).status, 201);
    assert.equal(await countOf(), 1);
  });

  row(
    ["description, Limits: Runs at the same time", "contract, Limits: runs in work at once"],
    "1 an org, as its `parallel-runs` says",
    async () => {
      const someone = await served.member();
      const replies = await Promise.all(
        Array.from({ length: 5 }, () =>
          someone.ask("POST", "/api/runs", { body: { pipeline: "long", project: "shop" } }),
        ),
      );
      assert.deepEqual(replies.map(({ status }) => status).sort(), [201, 429, 429, 429, 429]);
      const { runs } = await someone.told("GET", "/api/runs?status=in-work");
      const { limits } = await someone.told("GET", "/api/org");
      assert.deepEqual([runs.length, limits["parallel-runs"]], [1, 1]);
      await cancel(someone, runs[0]);
    },
  );

  row(
    ["description, Limits: Run time limit", "description, States and transitions: run in work (running)"],
    "30 s when nobody says, 1 hour at most, and over it the run stops and gives up its slot",
    async () => {
      const someone = await served.member();
      const byDefault = await someone.start("unlimited");
      assert.equal(byDefault["time-limit-seconds"], 30);
      await cancel(someone, byDefault);
      await someone.stopped(byDefault["run-id"]);
      const longest = await someone.start("unlimited", { "time-limit-seconds": 3600 });
      assert.equal(longest["time-limit-seconds"], 3600);
      await cancel(someone, longest);
      await someone.stopped(longest["run-id"]);
      const short = await someone.start("long", { "time-limit-seconds": 1 });
      const waiting = someone.told("POST", "/api/runs", {
        body: { pipeline: "hello", project: "shop" },
        headers: { prefer: "wait=30" },
      });
      const stopped = await someone.stopped(short["run-id"]);
      assert.equal(stopped.status, "timed-out");
      assert(Date.parse(stopped["stopped-at"]) - Date.parse(stopped["created-at"]) >= 1000);
      assert.equal((await waiting).status, "running");
    },
  );

  row(
    ["description, Limits: --parallel", "description, Command-line tool: <cli> run ... --parallel <N>"],
    "1 for a free org: of three pipelines no two are active together",
    async () => {
      const someone = await served.member();
      const { exitCode, told } = await served.json(
        ["run", "hello", "hello", "hello", "--parallel", "3"],
        someone.env,
      );
      assert.equal(exitCode, 0);
      const runs: Told[] = told.runs.toSorted((a: Told, b: Told) => (a["run-id"] < b["run-id"] ? -1 : 1));
      assert.equal(runs.length, 3);
      assertOneAfterTheOther(runs);
      assert.equal(told.warnings.length, 1);
    },
  );

  row(
    "description, Limits: Resource types",
    "`http`, `sql`, `browser` and `cli` are all granted to a free org",
    async () => {
      await served.write("all-types", allTypes());
      const someone = await served.member();
      const { pipelines } = await someone.told("GET", "/api/pipelines?project=shop");
      const entry = pipelines.find(({ name }: Told) => name === "all-types");
      assert.deepEqual(entry["resource-types"].toSorted(), resourceTypes.toSorted());
      assert.equal(entry.problem, undefined);
      const run = await someone.start("all-types");
      const { steps } = await someone.stopped(run["run-id"]);
      assert.deepEqual(
        steps.filter(({ status }: Told) => status !== "not-reached").map(({ type }: Told) => type),
        ["http"],
        "the first step, at whose address nobody answers, was run",
      );
    },
  );

  row("description, Resource types: rule 1", "no other type is one", async () => {
    const someone = await served.member();
    for (const type of ["ftp", "HTTP", "shell", "grpc", ""]) {
      await served.write("other-type", allTypes().replace("type: cli", `type: "${type}"`));
      const reply = await someone.ask("POST", "/api/runs", {
        body: { pipeline: "other-type", project: "shop" },
      });
      assert.equal(reply.status, 400, type);
      const body: Told = await reply.json();
      const named = [...body.error.message.matchAll(/\b(?:http|sql|browser|cli)\b/g)].map(String);
      assert.deepEqual(new Set(named), new Set(resourceTypes), body.error.message);
    }
    assert.equal(await used(someone), 0);
  });

  row(
    "contract, Limits: runs a day",
    "every run counts one, also one that failed or was cancelled",
    async () => {
      await served.write("broken", programPipeline("process.exit(3)"));
      const someone = await served.member();
      const failed = await someone.start("broken");
      assert.equal((await someone.stopped(failed["run-id"])).status, "failed");
      const cancelled = await someone.start("long");
      await cancel(someone, cancelled);
      await someone.stopped(cancelled["run-id"]);
      const { usage, limits } = await someone.told("GET", "/api/org");
      assert.deepEqual([usage["runs-today"], limits["runs-per-day"]], [2, 50]);
    },
  );

  row("contract, Limits: reset", "the runs of yesterday's last second count no more", async () => {
    const midnight = Math.floor(Date.now() / 86_400_000) * 86_400_000;
    const someone = await served.member();
    await fillDay(served.data, 50, midnight - 1, someone.orgId, someone.orgId);
    assert.equal(await used(someone), 0);
    assert.equal((await someone.start("hello")).status, "running");
    assert.equal(await used(someone), 1);
  });

  row(
    [
      "contract, Limits: refused start",
      "contract, Limits: second run while one…",
      "description, Errors: A second run is…",
      "description, Errors: rule 1",
      "description, States and transitions: rule 2",
    ],
    "is 429 `too-many-runs` of scope `org`, and leaves count, list and slot as they were, for either limit",
    async () => {
      const someone = await served.member("member", "Two keys");
      const other = await served.member("owner", "Two keys");
      const run = await someone.start("long");
      const before = await someone.told("GET", "/api/runs");
      for (const { reply, error } of await Promise.all(
        [someone, other, other].map((each) => refusedStart(each)),
      )) {
        assert.deepEqual([reply.status, error.type, error.scope], [429, "too-many-runs", "org"]);
      }
      assert.deepEqual(await someone.told("GET", "/api/runs"), before);
      assert.equal(await used(someone), 1);
      await cancel(other, run);
      const late = await usedUp();
      for (let times = 0; times < 5; times++)
        assert.equal((await refusedStart(late)).error.scope, "free-day");
      assert.equal(await used(late), 50);
      assert.equal(await runsOf(late), 50);
    },
  );

  row("contract, Limits: slot", "is held while the processes of a cancelled run live on", async () => {
    await served.write(
      "stubborn",
      programPipeline(
        `process.on('SIGTERM', () => {}); ${writePid}
        setInterval(() => require('node:fs').existsSync('go') && process.exit(), 10)`,
        "1h",
      ),
    );
    const someone = await served.member();
    const run = await someone.start("stubborn");
    const pid = await writtenPid(join(served.project, "pid"));
    const told = await cancel(someone, run);
    assert.equal(told.status, "cancelling");
    // The cancel was answered, and the program has not ended: another start finds the slot taken.
    const { reply, error } = await refusedStart(someone);
    assert.equal(reply.status, 429);
    assert.equal(error.scope, "org");
    assert(isAlive(pid));
    const waiting = someone.told("POST", "/api/runs", {
      body: { pipeline: "hello", project: "shop" },
      headers: { prefer: "wait=60" },
    });
    await writeFile(join(served.project, "go"), "");
    const next = await waiting;
    assert(!isAlive(pid), "the next run was started while the program was alive");
    assert.equal(next.status, "running");
  });

  row(
    "contract, Limits: run time limit",
    "more than an hour is 400 `invalid-request`, and so is none at all",
    async () => {
      const someone = await served.member();
      for (const seconds of [3601, 0, -1, 1.5, "30"]) {
        const reply = await someone.ask("POST", "/api/runs", {
          body: { pipeline: "hello", project: "shop", "time-limit-seconds": seconds },
        });
        assert.equal(reply.status, 400, String(seconds));
        const body: Told = await reply.json();
        assert.equal(body.error.type, "invalid-request");
        assert.match(body.error.message, /time-limit-seconds/);
      }
      assert.equal(await used(someone), 0);
      const { exitCode, stdout } = await served.call(["run", "hello", "--time-limit", "3601"], someone.env);
      assert.equal(exitCode, 2);
      assert.equal(stdout, "");
    },
  );

  row(
    "contract, Limits: resource types",
    "another type is a problem of the file, told with its line",
    async () => {
      await served.write("wrong-type", allTypes().replace("type: cli", "type: ftp"));
      const someone = await served.member();
      const line =
        allTypes()
          .split("\n")
          .findIndex((text) => text.includes("type: cli")) + 1;
      const { exitCode, stderr, stdout } = await served.call(["run", "wrong-type"], someone.env);
      assert.equal(exitCode, 2);
      assert.equal(stdout, "");
      assert.match(stderr, new RegExp(`wrong-type\\.yaml:${line}:\\d+: .*ftp`));
      assert.equal(await used(someone), 0);
    },
  );

  row("contract, Limits: which refusal first", "`free-day`, when the slot is taken too", async () => {
    const someone = await served.member();
    const run = await someone.start("long");
    await fillDay(served.data, 49, Date.now(), someone.orgId, someone.orgId);
    const waiting = await someone.ask("POST", "/api/runs", {
      body: { pipeline: "hello", project: "shop" },
      headers: { prefer: "wait=60" },
    });
    const body: Told = await waiting.json();
    assert.equal(body.error.scope, "free-day");
    assert.equal((await served.call(["run", "hello"], someone.env)).exitCode, 5);
    await cancel(someone, run);
  });

  row(
    "contract, Limits: rule 1",
    "another tier's numbers are what the tool shows and what it runs by",
    async () => {
      const someone = await served.member();
      await served.db
        .updateTable("orgs")
        .set({ tier: "gold", parallel_runs: 2, runs_per_day: 7 })
        .where("id", "=", someone.orgId)
        .execute();
      const org = await served.call(["org"], someone.env);
      assert.match(org.stdout, /\b0 of 7 runs\b/);
      assert.doesNotMatch(org.stdout, /50 runs/);
      const { exitCode, told } = await served.json(["run", "hello", "hello", "--parallel", "2"], someone.env);
      assert.equal(exitCode, 0);
      assert.deepEqual(told.warnings, []);
    },
  );

  rowCase(
    "contract, Limits: rule 1",
    "a tier of which the tool has never heard, against the given endpoints",
    async () => {
      await using given = await startsAnswered((_, response) => void response.writeHead(404).end(), {
        org: {
          tier: "platinum",
          limits: { "parallel-runs": 40, "runs-per-day": 9000 },
          usage: { "runs-today": 8999 },
        },
      });
      const { stdout, exitCode } = await served.call(["org"], at(given));
      assert.equal(exitCode, 0);
      assert.match(stdout, /\b8999 of 9000 runs\b/);
      assert.match(stdout, /\bplatinum\b/);
    },
  );
});

function assertOneAfterTheOther(runs: readonly Told[]): void {
  for (const [index, run] of runs.entries()) {
    const next = runs[index + 1];
    if (next !== undefined) assert(run["stopped-at"] <= next["created-at"]);
  }
}

/** A pipeline file with a resource of every type. */
function allTypes(): string {
  return [
    "resources:",
    "  shop: { type: http, base-url: http://127.0.0.1:1 }",
    "  orders: { type: sql, url: sqlite:orders.db }",
    "  chrome: { type: browser }",
    "  shell: { type: cli }",
    "steps:",
    "  - { name: one, use: shop, get: /health }",
    "  - { name: two, use: orders, query: select 1 }",
    "  - { name: three, use: chrome, goto: http://127.0.0.1:8080/ }",
    "  - { name: four, use: shell, run: 'true' }",
    "",
  ].join("\n");
}
