import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Validator } from "@seriousme/openapi-schema-validator";
import { errorTypes } from "../../../src/contract/errors.ts";
import { hurried } from "../../clock/preload.ts";
import { fillDay } from "../../service/fillDay.ts";
import { openStream } from "../../service/openStream.ts";
import { programPipeline, untilCancelled } from "../../service/startedService.ts";
import { at, givenKey, givenService } from "./givenService.ts";
import { row, rowCase } from "./row.ts";
import { type Member, type ServedTool, servedTool } from "./servedTool.ts";
import type { Told } from "./watchedTool.ts";

const ownStatuses = ["running", "cancelling", "succeeded", "failed", "cancelled", "timed-out", "lost"];
const instantPattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;

describe("conformance: the endpoints", () => {
  let served: ServedTool;
  /** A run of `hello` that has ended, and who started it: for what only looks at one. */
  let reader: Member;
  let ended: Told;
  before(async () => {
    served = await servedTool();
    await served.write("hello", programPipeline("console.log('one'); console.log('two')"));
    await served.write("long", programPipeline(untilCancelled, "1h"));
    await served.write("broken", programPipeline("process.exit(7)"));
    reader = await served.member();
    ended = await endedRun(reader);
  });
  after(() => served[Symbol.asyncDispose]());

  const cancel = (someone: Member, run: Told): Promise<Told> =>
    someone.told("POST", `/api/runs/${run["run-id"]}/cancel`);
  /** A run of `hello` that has ended. */
  const endedRun = async (someone: Member): Promise<Told> =>
    someone.stopped((await someone.start("hello"))["run-id"]);

  row(
    "description, Endpoints: POST /api/runs/{id}/cancel",
    "needs no body, and answers with `run-id` and `status`",
    async () => {
      const someone = await served.member();
      const run = await someone.start("long");
      const path = `/api/runs/${run["run-id"]}/cancel`;
      assert.equal((await fetch(`${served.url}${path}`, { method: "POST" })).status, 401);
      const told = await someone.told("POST", path);
      assert.deepEqual(Object.keys(told).sort(), ["run-id", "status"]);
      assert.deepEqual([typeof told["run-id"], typeof told.status], ["string", "string"]);
    },
  );

  rowCase(
    "description, Endpoints: POST /api/runs/{id}/cancel",
    "the tool sends the key, the id in the path, and no body",
    async () => {
      const runId = "run/7 ü";
      await using given = await givenService({ runs: [runId] });
      const { exitCode, told } = await served.json(["runs", "cancel", runId], at(given));
      assert.equal(exitCode, 0);
      assert.deepEqual(
        told.runs.map((run: Told) => [run["run-id"], run.status]),
        [[runId, "cancelling"]],
      );
      const asked = given.asked.filter(({ method }) => method === "POST");
      assert.deepEqual(
        asked.map(({ path, body, headers }) => [path, body, headers["x-api-key"]]),
        [["/api/runs/run%2F7%20%C3%BC/cancel", "", givenKey]],
      );
    },
  );

  row("description, Endpoints: rule 1", "both endpoints are under a base URL that has a path", async () => {
    await using given = await givenService({
      besides: (asked, response) => {
        // Only under the prefix is there a service; what is asked beside it would find another one.
        if (asked.path.startsWith("/eu/pipelines/api/")) return false;
        response.writeHead(200).end("<html>something else</html>");
        return true;
      },
      prefix: "/eu/pipelines",
    });
    for (const slash of ["", "/"]) {
      const env = { ...at(given), PIPELINE_BASE_URL: `${given.origin}/eu/pipelines${slash}` };
      assert.equal((await served.call(["org"], env)).exitCode, 0);
      assert.equal((await served.call(["runs", "cancel", "run_1"], env)).exitCode, 0);
    }
  });

  row("description, Endpoints: rule 2", "a member and an owner can cancel, a viewer can't", async () => {
    const runner = await served.member("member", "Roles");
    for (const role of ["member", "owner"] as const) {
      const someone = await served.member(role, "Roles");
      const run = await runner.start("long");
      assert.equal((await someone.ask("POST", `/api/runs/${run["run-id"]}/cancel`)).status, 200);
      await runner.stopped(run["run-id"]);
    }
    const viewer = await served.member("viewer", "Roles");
    const run = await runner.start("long");
    assert.equal((await viewer.ask("POST", `/api/runs/${run["run-id"]}/cancel`)).status, 403);
    assert.equal((await runner.told("GET", `/api/runs/${run["run-id"]}`)).status, "running");
    await cancel(runner, run);
  });

  row(
    "description, Authentication: rule 3",
    "a viewer reads the org, and the tool says 3 when it may not cancel",
    async () => {
      const runner = await served.member("member", "More roles");
      const viewer = await served.member("viewer", "More roles");
      const run = await runner.start("long");
      const [read, refused] = await Promise.all([
        served.call(["org"], viewer.env),
        served.run(["runs", "cancel", run["run-id"]], viewer.env),
      ]);
      assert.deepEqual([read.exitCode, refused.exitCode], [0, 3]);
      assert.equal((await served.call(["runs", "cancel", run["run-id"]], runner.env)).exitCode, 0);
    },
  );

  row(
    "description, Run: rule 1",
    "its actor is the id of the key that started it, by whichever face",
    async () => {
      const someone = await served.member("member", "Actors");
      const other = await served.member("owner", "Actors");
      const run = await endedRun(someone);
      assert.equal(run.actor, someone.keyId);
      const { told } = await served.calledJson(["run", "hello"], other.env);
      assert.equal(told.runs[0].actor, other.keyId);
      assert.equal((await other.told("GET", "/api/org")).actor, other.keyId);
    },
  );

  row(
    "description, Run: rule 2",
    "the cancel reply has the run's id and its status, also of one that has stopped",
    async () => {
      assert.deepEqual(await cancel(reader, ended), { "run-id": ended["run-id"], status: "succeeded" });
    },
  );

  row(
    "contract, Endpoints: POST /api/runs/{id}/cancel",
    "cancels an active run of the org, and nobody else's",
    async () => {
      const [someone, stranger] = [await served.member(), await served.member()];
      const run = await someone.start("long");
      const path = `/api/runs/${run["run-id"]}/cancel`;
      assert.equal((await stranger.ask("POST", path)).status, 404);
      assert.deepEqual(await someone.told("POST", path), { "run-id": run["run-id"], status: "cancelling" });
      assert.equal((await someone.stopped(run["run-id"])).status, "cancelled");
    },
  );

  row(
    "contract, Endpoints: POST /api/runs",
    "201 with `Location` and the run; 429 when a limit refuses",
    async () => {
      const someone = await served.member();
      const body = { pipeline: "long", project: "shop", "time-limit-seconds": 77 };
      const reply = await someone.ask("POST", "/api/runs", {
        body,
        headers: { "idempotency-key": "request 1" },
      });
      assert.equal(reply.status, 201);
      const run: Told = await reply.json();
      assert.equal(reply.headers.get("location"), `/api/runs/${run["run-id"]}`);
      assert.deepEqual(
        [run.pipeline, run.project, run["time-limit-seconds"], run.status],
        ["long", "shop", 77, "running"],
      );
      assert.equal((await someone.ask("POST", "/api/runs", { body })).status, 429);
      await cancel(someone, run);
      const held = await someone.ask("POST", "/api/runs", {
        body: { pipeline: "hello", project: "shop" },
        headers: { prefer: "wait=30" },
      });
      assert.equal(held.status, 201);
    },
  );

  row(
    "contract, Endpoints: GET /api/runs",
    "the newest first, page by page, filtered by what is asked",
    async () => {
      const someone = await served.member("member", "List");
      const other = await served.member("member", "List");
      await someone.ask("PUT", "/api/projects/second", { body: { root: served.project } });
      await fillDay(served.data, 25, Date.now(), someone.orgId, `list-${someone.orgId}`);
      const first = await endedRun(someone);
      const second = await other.start("long", { project: "second" });
      const list = (query: string) => someone.told("GET", `/api/runs${query}`);
      const ids = ({ runs }: Told): string[] => runs.map((run: Told) => run["run-id"]);
      assert.equal((await list("")).runs.length, 20);
      assert.deepEqual(ids(await list("?status=in-work")), [second["run-id"]]);
      assert.deepEqual(ids(await list("?actor=me")), [first["run-id"]]);
      assert.deepEqual(ids(await list("?project=second")), [second["run-id"]]);
      assert.equal((await list("?limit=100")).runs.length, 27);
      for (const limit of ["0", "101", "many"]) {
        assert.equal((await someone.ask("GET", `/api/runs?limit=${limit}`)).status, 400);
      }
      const paged: string[] = [];
      for (let after: string | undefined = ""; after !== undefined; ) {
        const page: Told = await list(
          `?limit=10${after === "" ? "" : `&after=${encodeURIComponent(after)}`}`,
        );
        paged.push(...ids(page));
        after = page.next;
      }
      assert.equal(new Set(paged).size, 27);
      assert.deepEqual(paged, paged.toSorted().toReversed());
      await cancel(other, second);
    },
  );

  row("contract, Endpoints: GET /api/runs/{id}", "the run with its steps", async () => {
    assert.deepEqual(
      ended.steps.map(({ name, type, status }: Told) => [name, type, status]),
      [["only", "cli", "succeeded"]],
    );
    assert.equal((await reader.ask("GET", "/api/runs/run_none")).status, 404);
  });

  row(
    "contract, Endpoints: GET /api/runs/{id}/log",
    "so far and then live, in both forms, resumed behind a number",
    async () => {
      await served.write(
        "talker",
        programPipeline(
          "console.log('first'); setInterval(() => require('node:fs').existsSync('end') && process.exit(), 10)",
        ),
      );
      const someone = await served.member();
      const run = await someone.start("talker");
      const path = `/api/runs/${run["run-id"]}/log`;
      const live = await openStream(`${served.url}${path}`, {
        "x-api-key": someone.secret,
        accept: "text/event-stream",
      });
      await live.events.untilOne(({ data }) => String(data["text"]).includes("first"));
      const before = await someone.told("GET", `/api/runs/${run["run-id"]}`);
      assert.equal(before.status, "running", "the line has come while the run is active");
      await cancel(someone, run);
      const lines = async (query = "", headers: Record<string, string> = {}): Promise<Told[]> => {
        const reply = await someone.ask("GET", `${path}${query}`, {
          headers: { accept: "application/x-ndjson", ...headers },
        });
        assert.match(reply.headers.get("content-type") ?? "", /^application\/x-ndjson/);
        const text = await reply.text();
        return text
          .split("\n")
          .filter((line) => line !== "")
          .map((line) => JSON.parse(line));
      };
      const all = await lines();
      assert.deepEqual(
        all.map(({ sequence }) => sequence),
        all.map((_, index) => index + 1),
      );
      const behind = all.slice(1);
      assert.deepEqual(await lines("?after=1"), behind);
      assert.deepEqual(await lines("", { "last-event-id": "1" }), behind);
      live.leave();
    },
  );

  row(
    "contract, Endpoints: GET /api/pipelines",
    "each with project, path, types, and the problem of a broken one",
    async () => {
      await served.write("crooked", "steps: [}");
      const someone = await served.member();
      await someone.ask("PUT", "/api/projects/second", { body: { root: served.project } });
      const { pipelines } = await someone.told("GET", "/api/pipelines?project=shop");
      const entry = (name: string): Told => pipelines.find((pipeline: Told) => pipeline.name === name);
      assert.deepEqual(entry("hello"), {
        name: "hello",
        project: "shop",
        path: "pipelines/hello.yaml",
        "resource-types": ["cli"],
        inputs: [],
        tags: [],
      });
      assert.match(entry("crooked").problem, /crooked\.yaml:1:\d+/);
      const all = await someone.told("GET", "/api/pipelines");
      assert.equal(all.pipelines.length, pipelines.length * 2);
    },
  );

  row("contract, Endpoints: PUT /api/projects/{name}", "takes an absolute folder, and no other", async () => {
    const someone = await served.member();
    const reply = await someone.told("PUT", "/api/projects/other", { body: { root: served.project } });
    assert.deepEqual([reply.name, reply.root], ["other", served.project]);
    for (const root of ["pipelines", "./", "", join(served.project, "none")]) {
      const refused = await someone.ask("PUT", "/api/projects/wrong", { body: { root } });
      assert(refused.status >= 400 && refused.status < 500, root);
    }
  });

  row(
    "contract, Endpoints: GET /api/events",
    "`org` and `run` events of the caller's org, and of no other",
    async () => {
      const [someone, stranger] = [await served.member(), await served.member()];
      const follow = ({ secret }: Member) =>
        openStream(`${served.url}/api/events`, { "x-api-key": secret, accept: "text/event-stream" });
      const stream = await follow(someone);
      const theirs = await follow(stranger);
      const run = await someone.start("hello");
      await stream.events.untilOne(({ data }) => data["status"] === "succeeded");
      const kinds = new Set(stream.events.all.map(({ event }) => event));
      assert(kinds.has("org") && kinds.has("run"));
      const counts = stream.events.all.filter(({ event }) => event === "org").map(({ data }) => data as Told);
      assert.equal(counts.at(-1)?.usage["runs-today"], 1);
      assert(!JSON.stringify(theirs.events.all).includes(run["run-id"]));
      stream.leave();
      theirs.leave();
    },
  );

  row(
    "contract, Endpoints: GET /healthz, GET /openapi.json",
    "answer without a key; the document is valid OpenAPI 3.1",
    async () => {
      assert.equal((await fetch(`${served.url}/healthz`)).status, 200);
      const reply = await fetch(`${served.url}/openapi.json`);
      assert.equal(reply.status, 200);
      const document: Told = await reply.json();
      const validator = new Validator();
      assert.equal((await validator.validate(document)).valid, true);
      assert.equal(validator.version, "3.1");
      // The same schemas: what the document says of a start is what a start is held to.
      const { schema } = document.paths["/api/runs"].post.requestBody.content["application/json"];
      const request =
        schema.$ref === undefined ? schema : document.components.schemas[schema.$ref.split("/").at(-1)];
      assert.equal(request.properties["time-limit-seconds"].maximum, 3600);
      assert.equal(request.additionalProperties, false);
      const someone = await served.member();
      const unknown = await someone.ask("POST", "/api/runs", { body: { pipeline: "hello", colour: "red" } });
      assert.equal(unknown.status, 400);
    },
  );

  row("contract, Endpoints: rule 1", "a run has these fields, and steps have theirs", async () => {
    const someone = await served.member();
    const begun = await someone.start("long");
    const always = [
      "run-id",
      "pipeline",
      "project",
      "status",
      "actor",
      "runner",
      "created-at",
      "time-limit-seconds",
    ];
    for (const field of always) assert(field in begun, field);
    assert(!("stopped-at" in begun));
    await cancel(someone, begun);
    const cancelled = await someone.stopped(begun["run-id"]);
    for (const field of [...always, "stopped-at", "reason", "steps"]) assert(field in cancelled, field);
    const failed = await someone.stopped((await someone.start("broken"))["run-id"]);
    for (const field of ["name", "type", "status", "started-at", "stopped-at", "message"]) {
      assert(field in failed.steps[0], field);
    }
  });

  row("contract, Endpoints: rule 2", "each time is RFC 3339 in UTC", async () => {
    const [step] = ended.steps;
    const times = [ended["created-at"], ended["stopped-at"], step["started-at"], step["stopped-at"]];
    for (const time of times) assert.match(time, instantPattern);
    assert.deepEqual(times.toSorted(), [times[0], times[2], times[3], times[1]]);
  });

  row("contract, Endpoints: rule 3", "the statuses of work hold the slot, the others don't", async () => {
    const someone = await served.member();
    const failed = await someone.stopped((await someone.start("broken"))["run-id"]);
    const late = await someone.stopped((await someone.start("long", { "time-limit-seconds": 1 }))["run-id"]);
    const begun = await someone.start("long");
    const cancelling = await cancel(someone, begun);
    const cancelled = await someone.stopped(begun["run-id"]);
    assert.deepEqual(
      [begun, cancelling, ended, failed, cancelled, late].map(({ status }) => status),
      ownStatuses.slice(0, -1),
    );
    assert.deepEqual((await someone.told("GET", "/api/runs?status=in-work")).runs, []);
    for (const status of ownStatuses) {
      assert.equal((await someone.ask("GET", `/api/runs?status=${status}`)).status, 200, status);
    }
    assert.equal((await someone.ask("GET", "/api/runs?status=gone")).status, 400);
  });

  row(
    "contract, Endpoints: rule 4",
    "a status that nobody knows is shown as it is, and ends with `stopped-at`",
    async () => {
      const record = {
        "run-id": "run_1",
        pipeline: "nightly",
        project: "shop",
        actor: "key_1",
        runner: "cloud",
        "created-at": "2026-03-03T10:00:00Z",
        "time-limit-seconds": 30,
      };
      let looks = 0;
      await using service = await givenService({
        besides: (asked, response) => {
          const { pathname } = new URL(asked.path, "http://service");
          const json = (status: number, body: unknown) => {
            response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
            return true;
          };
          if (asked.method === "POST" && pathname === "/api/runs")
            return json(201, { ...record, status: "warming-up" });
          if (asked.method === "GET" && pathname === "/api/runs/run_1") {
            looks += 1;
            if (looks < 3) return json(200, { ...record, status: "warming-up" });
            return json(200, { ...record, status: "evaporated", "stopped-at": "2026-03-03T10:00:09Z" });
          }
          if (asked.method === "GET" && pathname === "/api/runs") {
            return json(200, { runs: [{ ...record, status: "warming-up" }] });
          }
          return false;
        },
      });
      const [ran, listed] = await Promise.all([
        served.json(["run", "nightly"], { ...at(service), ...hurried(50) }),
        served.call(["runs", "list"], at(service)),
      ]);
      assert(looks >= 3, "it was active until it had stopped");
      assert.equal(ran.exitCode, 1);
      assert.equal(ran.told.runs[0].status, "evaporated");
      assert.match(listed.stdout, /warming-up/);
    },
  );

  row(
    "contract, Endpoints: rule 5",
    "ids begin with what they are and sort by time; secrets have one prefix",
    async () => {
      const someone = await served.member();
      const runs = [ended, await endedRun(someone), await endedRun(someone)];
      const ids = runs.map((run) => run["run-id"]);
      assert.deepEqual(ids, ids.toSorted());
      for (const id of ids) assert.match(id, /^run_/);
      const others = [await served.member(), await served.member()];
      for (const { keyId, orgId, secret } of others) {
        assert.match(keyId, /^key_/);
        assert.match(orgId, /^org_/);
        assert.match(secret, /^plr_/);
      }
      const keyIds = [someone, ...others].map(({ keyId }) => keyId);
      assert.deepEqual(keyIds, keyIds.toSorted());
    },
  );

  row(
    "contract, Endpoints: rule 6",
    "a secret is in no file of the service, and is shown when it is made alone",
    async () => {
      const made = await served.json(["keys", "create", "--role", "member", "--org", "Hashes"]);
      const secret: string = made.told["api-key"];
      const env = { PIPELINE_BASE_URL: served.url, PIPELINE_API_KEY: secret };
      assert.equal((await served.call(["org"], env)).exitCode, 0);
      // `watchedTool` looks for the secret in what this prints.
      assert.match((await served.run(["keys", "list"], env)).stdout, new RegExp(made.told["key-id"]));
      for (const file of ["runs.db", "runs.db-wal"]) {
        const bytes = await readFile(join(served.data, file)).catch(() => Buffer.alloc(0));
        assert(!bytes.includes(secret.slice(-43)), file);
      }
      const almost = `${secret.slice(0, -1)}${secret.endsWith("A") ? "B" : "A"}`;
      assert.equal((await fetch(`${served.url}/api/org`, { headers: { "x-api-key": almost } })).status, 401);
    },
  );

  row(
    "contract, The contract: rule 2",
    "every name on the wire and in the tool's objects is kebab-case",
    async () => {
      const objects = [
        ended,
        await reader.told("GET", "/api/org"),
        await reader.told("GET", "/api/runs"),
        await reader.told("GET", "/api/pipelines"),
        (await served.calledJson(["run", "hello"], reader.env)).told,
        (await served.calledJson(["org"], reader.env)).told,
        (await served.calledJson(["runs", "list"], reader.env)).told,
      ];
      for (const object of objects) {
        for (const name of namesIn(object)) assert.match(name, /^[a-z0-9]+(-[a-z0-9]+)*$/);
      }
      assert(namesIn(objects).includes("run-id"));
    },
  );

  describe("refusing", () => {
    row(
      "contract, Refusals and errors over HTTP: rule 1",
      "an error is `type`, `message` and, where a limit refuses, `scope`",
      async () => {
        const someone = await served.member();
        const run = await someone.start("long");
        const refused = await someone.ask("POST", "/api/runs", {
          body: { pipeline: "hello", project: "shop" },
        });
        const missing = await someone.ask("GET", "/api/runs/run_none");
        for (const reply of [refused, missing]) {
          assert.match(reply.headers.get("content-type") ?? "", /^application\/json\b/);
          const body: Told = await reply.json();
          assert.deepEqual(Object.keys(body), ["error"]);
          assert.equal(typeof body.error.type, "string");
          assert.equal(typeof body.error.message, "string");
          assert.equal(body.error.scope, reply === refused ? "org" : undefined);
        }
        await cancel(someone, run);
      },
    );

    row("contract, Refusals and errors over HTTP: rule 2", "each type has its status", async () => {
      const someone = await served.member("owner", "Statuses");
      const viewer = await served.member("viewer", "Statuses");
      const run = await someone.start("long");
      const start = (body: unknown): readonly [string, string, { body: unknown }] => [
        "POST",
        "/api/runs",
        { body },
      ];
      const asked: readonly [string, number, Promise<Response>][] = [
        ["unauthorized", 401, fetch(`${served.url}/api/org`)],
        ["forbidden", 403, viewer.ask(...start({ pipeline: "hello", project: "shop" }))],
        ["not-found", 404, someone.ask("GET", "/api/runs/run_none")],
        ["conflict", 409, someone.ask("POST", `/api/keys/${someone.keyId}/revoke`)],
        ["payload-too-large", 413, someone.ask(...start({ pipeline: "x".repeat(600_000) }))],
        ["invalid-request", 400, someone.ask(...start({ pipeline: 7 }))],
        ["too-many-runs", 429, someone.ask(...start({ pipeline: "hello", project: "shop" }))],
      ];
      for (const [type, status, asking] of asked) {
        const reply = await asking;
        const body: Told = await reply.json();
        assert.deepEqual([reply.status, body.error?.type], [status, type]);
      }
      // What no caller can cause is known by the registry that every reply is made from.
      assert.equal(errorTypes.internal.httpStatus, 500);
      await cancel(someone, run);
    });

    row(
      "contract, Refusals and errors over HTTP: rule 3",
      "`Retry-After` is the seconds to 00:00 UTC of the reply's own `Date`",
      async () => {
        const someone = await served.member();
        await fillDay(served.data, 50, Date.now(), someone.orgId, `retry-${someone.orgId}`);
        const reply = await someone.ask("POST", "/api/runs", {
          body: { pipeline: "hello", project: "shop" },
        });
        assert.equal(reply.status, 429);
        const date = Date.parse(reply.headers.get("date") ?? "");
        const midnight = (Math.floor(date / 86_400_000) + 1) * 86_400_000;
        const seconds = Number(reply.headers.get("retry-after"));
        assert(Math.abs((midnight - date) / 1000 - seconds) <= 1);
      },
    );
  });
});

function namesIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(namesIn);
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, item]) => [name, ...namesIn(item)]);
}
