import assert from "node:assert/strict";
import { at, givenService } from "./givenService.ts";
import { row, rowCase } from "./row.ts";
import { type Told, watchedTool } from "./watchedTool.ts";

describe("conformance: a service that has the given endpoints alone", () => {
  let tool: Awaited<ReturnType<typeof watchedTool>>;
  before(async () => {
    tool = await watchedTool();
  });
  after(() => tool[Symbol.asyncDispose]());

  row("contract, The contract: rule 1", "`org` and `runs cancel <id>` work as anywhere", async () => {
    await using given = await givenService({ runs: ["run_1", "run_2"] });
    const [org, cancelled] = await Promise.all([
      tool.json(["org"], at(given)),
      tool.json(["runs", "cancel", "run_1", "run_2"], at(given)),
    ]);
    assert.deepEqual([org.exitCode, cancelled.exitCode], [0, 0]);
    assert.equal(org.told.usage["runs-today"], 7);
    assert.deepEqual(
      cancelled.told.runs.map((run: Told) => [run["run-id"], run.status]),
      [
        ["run_1", "cancelling"],
        ["run_2", "cancelling"],
      ],
    );
  });

  const lacking: readonly (readonly [string, readonly string[]])[] = [
    ["`run`", ["run", "nightly"]],
    ["`run` of several", ["run", "nightly", "weekly", "--parallel", "2"]],
    ["`run --detach`", ["run", "nightly", "--detach"]],
    ["`runs cancel --mine`", ["runs", "cancel", "--mine"]],
    ["`runs list`", ["runs", "list"]],
    ["`page`", ["page"]],
  ];
  for (const [what, args] of lacking) {
    rowCase(
      "contract, The contract: rule 1",
      `${what} says what can't be done there, and what may do it`,
      async () => {
        await using given = await givenService();
        const [plain, json] = await Promise.all([
          tool.call(args, at(given)),
          tool.calledJson(args, at(given)),
        ]);
        const { host } = new URL(given.origin);
        for (const { exitCode } of [plain, json]) assert.equal(exitCode, 4);
        assert.equal(plain.stdout, "", "nothing was done, so there is no result");
        const [problem = "", next = ""] = plain.stderr.split("\n").slice(-2);
        assert.match(problem, new RegExp(`${host} (has no|doesn't)`));
        assert.match(next, /command-line tool|`pipeline /, "it says what to do instead");
        assert.equal(json.told.ok, false);
        assert.notEqual(json.told.error.type, "too-many-runs");
        // Nothing is sent twice to a service that has said that it has no such thing.
        const starts = given.asked.filter(({ method, path }) => method === "POST" && path === "/api/runs");
        assert(starts.length <= 4);
      },
    );
  }

  rowCase(
    "contract, The contract: rule 1",
    "an id that the service doesn't know is told, with exit code 2 and the id",
    async () => {
      await using given = await givenService();
      const { exitCode, stderr, stdout } = await tool.call(["runs", "cancel", "run_none"], at(given));
      assert.equal(exitCode, 2);
      assert.match(stderr, /run_none/);
      assert.equal(stdout, "");
    },
  );

  rowCase(
    "contract, The contract: rule 1",
    "one id of several that isn't known: 1, and the others are told",
    async () => {
      await using given = await givenService();
      const { exitCode, told } = await tool.calledJson(["runs", "cancel", "run_none", "run_1"], at(given));
      assert.equal(exitCode, 1);
      assert.equal(told.ok, false);
      assert.match(JSON.stringify(told), /run_none/);
      assert.match(JSON.stringify(told.runs), /run_1/);
    },
  );

  describe("or whose answers break the contract", () => {
    const org = {
      "org-id": "org_1",
      "org-name": "Lamps",
      tier: "free",
      limits: { "parallel-runs": 1, "runs-per-day": 50 },
      usage: { "runs-today": 7 },
      actor: "key_1",
    };
    const { usage: _, ...noUsage } = org;
    const { actor: __, ...noActor } = org;
    /** What the service says, and what the one sentence names. */
    const broken: readonly (readonly [string, string, RegExp])[] = [
      ["no count", JSON.stringify({ ...org, usage: {} }), /usage\.runs-today/],
      ["no usage", JSON.stringify(noUsage), /\busage\b/],
      ["no actor", JSON.stringify(noActor), /\bactor\b/],
      [
        "a count that is a text",
        JSON.stringify({ ...org, usage: { "runs-today": "7" } }),
        /usage\.runs-today/,
      ],
      [
        "a count with a fraction",
        JSON.stringify({ ...org, usage: { "runs-today": 7.5 } }),
        /usage\.runs-today/,
      ],
      ["a count below nothing", JSON.stringify({ ...org, usage: { "runs-today": -1 } }), /usage\.runs-today/],
      [
        "a limit that is null",
        JSON.stringify({ ...org, limits: { ...org.limits, "runs-per-day": null } }),
        /limits\.runs-per-day/,
      ],
      [
        "camelCase",
        JSON.stringify({ ...noActor, ...{ orgId: "org_1" }, "org-id": undefined, actor: "key_1" }),
        /org-id/,
      ],
      ["a list", JSON.stringify([org]), /body/],
      ["null", "null", /body/],
      ["a cut object", JSON.stringify(org).slice(0, -9), /JSON/],
      ["a web page", "<html>7 of 50</html>", /web page/],
      ["nothing", "", /empty/],
    ];

    row(
      "contract, Refusals and errors over HTTP: rule 5",
      "one sentence that names the field, exit code 4, and no number that was not sent",
      async () => {
        await using given = await givenService({
          besides: (asked, response) => {
            if (asked.method !== "POST") return false;
            response.writeHead(200).end('{"run-id":7,"status":"cancelling"}');
            return true;
          },
        });
        const { exitCode, stdout, stderr } = await tool.run(["runs", "cancel", "run_1"], at(given));
        assert.deepEqual([exitCode, stdout], [4, ""]);
        assert.match(stderr, /run-id/);
      },
    );

    for (const [name, body, names] of broken) {
      rowCase("contract, Refusals and errors over HTTP: rule 5", `an org with ${name}`, async () => {
        await using given = await givenService({
          besides: (asked, response) => {
            if (asked.path !== "/api/org") return false;
            response.writeHead(200, { "content-type": "application/json" }).end(body);
            return true;
          },
        });
        const { exitCode, told, stderr, stdout } = await tool.calledJson(["org"], at(given));
        assert.equal(exitCode, 4);
        assert.equal(told.error.type, "breaks-contract");
        assert.match(told.error.message, names);
        assert.doesNotMatch(`${stdout}${stderr}`, /of 50 runs|7 of|"usage"/);
      });
    }
  });
});
