import assert from "node:assert/strict";
import { ServiceClient } from "../../../src/client/service/client.ts";
import { secondsToReset } from "../../../src/contract/limits.ts";
import type { Refusal } from "../../../src/contract/refusal.ts";
import { runOnWire, sendJson } from "../../client/loopbackService.ts";
import { clockOff, hurried } from "../../clock/preload.ts";
import {
  at,
  type GivenOptions,
  givenKey,
  type RefusalShape,
  sendShape,
  startsAnswered,
} from "./givenService.ts";
import { row, rowCase } from "./row.ts";
import { onlyObject, type Told, watchedTool } from "./watchedTool.ts";

/** Every shape that has a scope in it, with the scope filled in. `too-many-runs` and the scope are all that is given. */
function scopedShapes(scope: "org" | "free-day"): RefusalShape[] {
  const type = "too-many-runs";
  const message = "No run was made.";
  const problem = (uri: string, more: object = { scope }) =>
    JSON.stringify({ type: uri, title: "Too many runs", status: 429, detail: message, ...more });
  const json = (value: unknown) => JSON.stringify(value);
  const problemType = "application/problem+json";
  return [
    { name: "the error as an object, the scope inside", body: json({ error: { type, message, scope } }) },
    { name: "the error as an object, the scope beside", body: json({ error: { type, message }, scope }) },
    { name: "the error as a string, the scope beside", body: json({ error: type, scope }) },
    { name: "the scope before the error", body: json({ scope, error: type }) },
    { name: "the error's name as its code", body: json({ error: { code: type, scope } }) },
    { name: "the error's name as its name", body: json({ error: { name: type, details: { scope } } }) },
    { name: "a list of errors", body: json({ errors: [{ code: type, scope }] }) },
    { name: "a list at the top", body: json([{ type, scope }]) },
    { name: "the error nested three deep", body: json({ data: { result: { error: { type, scope } } } }) },
    { name: "the error's name at the top", body: json({ type, scope, message }) },
    {
      name: "fields that nobody knows",
      body: json({ error: { type, scope, retriable: true, at: [1, null] } }),
    },
    {
      name: "problem+json with an https URI",
      body: problem("https://errors.example/problems/too-many-runs"),
      contentType: problemType,
    },
    {
      name: "problem+json with a URN",
      body: problem("urn:problem-type:too-many-runs"),
      contentType: problemType,
    },
    {
      name: "problem+json with a fragment",
      body: problem("/problems#too-many-runs"),
      contentType: problemType,
    },
    {
      name: "problem+json with the scope in an extension",
      body: problem("about:blank", { code: type, extensions: { scope } }),
      contentType: problemType,
    },
    {
      name: "JSON under text/plain",
      body: json({ error: type, scope }),
      contentType: "text/plain; charset=utf-8",
    },
    { name: "JSON under text/html", body: json({ error: type, scope }), contentType: "text/html" },
    { name: "JSON under no type", body: json({ error: type, scope }), contentType: "" },
    { name: "JSON with spaces and lines around it", body: `\r\n  ${json({ error: type, scope })}\n\n` },
    { name: "JSON in many lines", body: JSON.stringify({ error: { type, scope } }, undefined, 4) },
    { name: "JSON behind a byte order mark", body: `\ufeff${json({ error: type, scope })}` },
    {
      name: "the scope only in its sentence",
      body: json({ error: { type, message: `Scope ${scope} is used up.` } }),
    },
    {
      name: "a key of the service in its words",
      body: json({ error: { type, scope, message: "plk_5ecre7-0f-the-conformance-suite" } }),
    },
  ];
}

/** Shapes of a 429 that say nothing of the scope: the status alone decides, and that is scope `org`. */
const scopelessShapes: readonly RefusalShape[] = [
  { name: "the error as a string alone", body: '{"error":"too-many-runs"}' },
  {
    name: "the error as an object without a scope",
    body: '{"error":{"type":"too-many-runs","message":"no"}}',
  },
  { name: "a scope that nobody knows", body: '{"error":"too-many-runs","scope":"galaxy"}' },
  { name: "a scope that is no text", body: '{"error":"too-many-runs","scope":7}' },
  { name: "plain text", body: "Too Many Requests", contentType: "text/plain" },
  { name: "a web page", body: "<!doctype html><h1>429</h1>", contentType: "text/html" },
  { name: "nothing", body: "", contentType: "" },
  { name: "JSON that is cut off", body: '{"error":{"type":"too-many' },
  { name: "a bare null", body: "null" },
  { name: "a bare number", body: "429" },
  { name: "an empty list", body: "[]" },
];

/** 72 minutes before midnight on the service's clock. */
const servedAt = "Tue, 03 Mar 2026 22:48:00 GMT";
const secondsThere = 4320;
const freeDay: RefusalShape = {
  name: "as the embedded service has it",
  body: JSON.stringify({ error: { type: "too-many-runs", message: "used up", scope: "free-day" } }),
};
/** Time passes a thousand times as fast: a wait of 120 s is over in the blink of an eye. */
const inABlink = hurried(1000);

describe("conformance: the refusal object", () => {
  let tool: Awaited<ReturnType<typeof watchedTool>>;
  before(async () => {
    tool = await watchedTool();
  });
  after(() => tool[Symbol.asyncDispose]());

  interface Refused {
    readonly told: Told;
    readonly stdout: string;
    readonly stderr: string;
    readonly exitCode: number | undefined;
  }

  /** What `pipeline run …` comes to against a service that answers every start in one way. */
  async function refusedBy(
    shape: RefusalShape,
    options: {
      readonly headers?: Readonly<Record<string, string>>;
      readonly args?: readonly string[];
      readonly env?: Readonly<Record<string, string>>;
      readonly org?: Readonly<Record<string, unknown>>;
      readonly isProcess?: boolean;
    } = {},
  ): Promise<Refused> {
    const { headers = { date: servedAt }, args = ["nightly"], env = {}, org = {}, isProcess } = options;
    await using service = await startsAnswered((_, response) => sendShape(response, shape, headers), { org });
    // Only a process heeds what is loaded before its program.
    const start = isProcess || "NODE_OPTIONS" in env ? tool.run : tool.call;
    const end = await start(["run", ...args], { ...at(service), ...env });
    return { ...end, told: onlyObject(end.stdout) };
  }

  /** All that a refusal by the day is: the object to the letter, and the exit code. */
  function assertFreeDay({ told, exitCode }: Refused, seconds = secondsThere, pipeline = "nightly"): void {
    assert.equal(exitCode, 5);
    const { message } = told.error;
    assert.deepEqual(told, {
      ok: false,
      command: "run",
      error: { type: "too-many-runs", message },
      hints: [{ command: `pipeline run ${pipeline}`, doc: `retry after ${seconds} s` }],
      warnings: [],
    });
    assert.match(message, /\bfree-day\b/);
    assert.match(message, new RegExp(`\\b${seconds}\\b`));
  }

  function assertOrg({ told, exitCode }: Refused): void {
    assert.equal(exitCode, 5);
    const { message } = told.error;
    const [first, retry, ...others] = told.hints;
    assert.deepEqual(Object.keys(told), ["ok", "command", "error", "hints", "warnings"]);
    assert.deepEqual(
      [told.ok, told.command, told.error, told.warnings],
      [false, "run", { type: "too-many-runs", message }, []],
    );
    assert.match(message, /\borg\b/);
    assert.doesNotMatch(message, /free-day/);
    assert.equal(first.command, "pipeline runs cancel --mine");
    assert.equal(retry.command, "pipeline run nightly");
    assert.deepEqual(others, []);
  }

  describe("by the day", () => {
    let refused: Refused;
    before(async () => {
      refused = await refusedBy(freeDay, { isProcess: true });
    });

    row(
      "description, Command-line tool: rule 3",
      "one object and exit code 5, with and without --json",
      async () => {
        assertFreeDay(refused);
        assertFreeDay(await refusedBy(freeDay, { args: ["nightly", "--json"], isProcess: true }));
      },
    );

    row("description, Command-line tool: ok", "is false", async () => {
      assert.equal(refused.told.ok, false);
    });

    row(
      "description, Command-line tool: command",
      "is `run`, also for several pipelines with options",
      async () => {
        assert.equal(refused.told.command, "run");
        const several = await refusedBy(freeDay, { args: ["one", "two", "--detach", "--time-limit", "9"] });
        assert.equal(several.told.command, "run");
      },
    );

    row(
      "description, Command-line tool: error.type",
      "is `too-many-runs`, whatever the service's own word looks like",
      async () => {
        assert.equal(refused.told.error.type, "too-many-runs");
        const problem = scopedShapes("free-day").find(({ body }) => body.includes("urn:"));
        assert(problem !== undefined);
        assert.equal((await refusedBy(problem)).told.error.type, "too-many-runs");
      },
    );

    row("description, Command-line tool: error.message", "names `free-day` and the seconds", async () => {
      assert.equal(typeof refused.told.error.message, "string");
      assert.match(refused.told.error.message, /\bfree-day\b/);
      assert.match(refused.told.error.message, /\b4320\b/);
    });

    row(
      "description, Command-line tool: hints",
      "one of `command` and `doc` for each pipeline, in their order",
      async () => {
        const { told } = await refusedBy(freeDay, { args: ["nightly", "weekly", "nightly/eu"] });
        assert.deepEqual(
          told.hints,
          ["nightly", "weekly", "nightly/eu"].map((name) => ({
            command: `pipeline run ${name}`,
            doc: "retry after 4320 s",
          })),
        );
      },
    );

    row(
      "description, Command-line tool: warnings",
      "is empty, also when --parallel was clamped",
      async () => {
        assert.deepEqual(refused.told.warnings, []);
        const clamped = await refusedBy(freeDay, { args: ["nightly", "--parallel", "9", "--json"] });
        assertFreeDay(clamped);
        assert.match(clamped.stderr, /--parallel/);
      },
    );

    row(
      "description, Command-line tool: rule 4",
      "the seconds are those to 00:00 UTC, rounded to whole ones",
      async () => {
        const times = [
          ["Tue, 03 Mar 2026 00:00:00 GMT", 86_400],
          ["Tue, 03 Mar 2026 23:59:59 GMT", 1],
          ["Wed, 31 Dec 2025 12:00:00 GMT", 43_200],
        ] as const;
        await Promise.all(
          times.map(async ([date, seconds]) =>
            assertFreeDay(await refusedBy(freeDay, { headers: { date } }), seconds),
          ),
        );
      },
    );

    row(
      "description, Command-line tool: rule 5",
      "the command has the name of the pipeline that was asked for",
      async () => {
        const { told } = await refusedBy(freeDay, { args: ["a.b-c_d", "--json"] });
        assert.equal(told.hints[0].command, "pipeline run a.b-c_d");
      },
    );

    row(
      "contract, The command-line tool: rule 1",
      "nothing but the object is on standard output, in bytes",
      async () => {
        await using service = await startsAnswered((_, response) => sendShape(response, freeDay));
        const end = await tool.spawn(["run", "nightly", "weekly"], at(service));
        tool.watched({ exitCode: end.exitCode, stdout: end.stdout, stderr: end.stderr });
        assert.equal(end.exitCode, 5);
        assert.equal(end.stdout, JSON.stringify(JSON.parse(end.stdout)));
      },
    );

    rowCase(
      "contract, The command-line tool: rule 1",
      "and for some of several pipelines: one object that names each refused one, whatever became of the others",
      async () => {
        const ended = (status: string) =>
          runOnWire({ status, "stopped-at": "2026-03-03T10:00:02Z", reason: "told so" });
        for (const status of ["succeeded", "failed"]) {
          await using service = await startsAnswered(
            ({ body }, response) => {
              if (JSON.parse(body).pipeline === "first") sendJson(response, 201, ended(status));
              else sendShape(response, freeDay, { date: servedAt });
            },
            { besides: runAsEnded(ended(status)) },
          );
          const end = await tool.call(["run", "first", "second", "third"], at(service));
          assert.equal(end.exitCode, 5);
          const told = onlyObject(end.stdout);
          assert.deepEqual(Object.keys(told), ["ok", "command", "error", "hints", "warnings"]);
          assert.deepEqual(
            told.hints.map(({ command }: Told) => command),
            ["pipeline run second", "pipeline run third"],
          );
        }
      },
    );

    rowCase(
      "contract, The command-line tool: rule 1",
      "also without colours, on a dumb terminal, and in a folder that is no project",
      async () => {
        for (const env of [{ NO_COLOR: "1" }, { TERM: "dumb" }, { FORCE_COLOR: "3" }]) {
          const { told, exitCode, stdout } = await refusedBy(freeDay, { env, isProcess: true });
          assertFreeDay({ told, exitCode, stdout, stderr: "" });
          assert(!stdout.includes("\u001b"));
        }
      },
    );

    row(
      "contract, The command-line tool: rule 2",
      "has exactly these fields, in this order, and no other",
      async () => {
        const { told } = refused;
        assert.deepEqual(Object.keys(told), ["ok", "command", "error", "hints", "warnings"]);
        assert.deepEqual(Object.keys(told.error), ["type", "message"]);
        assert.deepEqual(
          told.hints.map((hint: Told) => Object.keys(hint)),
          [["command", "doc"]],
        );
      },
    );

    row(
      "contract, The command-line tool: rule 3",
      "the message has scope and seconds, the hint the command to retry",
      async () => {
        assert.match(refused.told.error.message, /free-day.*\b4320\b/);
        assert.deepEqual(refused.told.hints, [
          { command: "pipeline run nightly", doc: "retry after 4320 s" },
        ]);
      },
    );

    row(
      "contract, The command-line tool: rule 5",
      "no warning in a refusal by either limit, with --parallel above it",
      async () => {
        const args = ["nightly", "--parallel", "2"];
        const org: RefusalShape = { name: "org", body: '{"error":"too-many-runs","scope":"org"}' };
        const [day, slot] = await Promise.all([
          refusedBy(freeDay, { args }),
          refusedBy(org, { args, env: inABlink }),
        ]);
        assert.deepEqual([day.told.warnings, slot.told.warnings], [[], []]);
      },
    );

    row(
      "contract, Refusals and errors over HTTP: rule 6",
      "the same seconds come out when the caller's clock is hours off",
      async () => {
        await Promise.all(
          [-9, 24 * 400].map(async (hours) =>
            assertFreeDay(await refusedBy(freeDay, { env: clockOff(hours) })),
          ),
        );
      },
    );

    rowCase(
      "contract, Refusals and errors over HTTP: rule 6",
      "`Date` before `Retry-After` where they differ",
      async () => {
        const headers = { date: servedAt, "retry-after": "77" };
        assertFreeDay(await refusedBy(freeDay, { headers, env: clockOff(7) }));
      },
    );

    rowCase(
      "contract, Refusals and errors over HTTP: rule 6",
      "`Retry-After` where there is no `Date`",
      async () => {
        const headers = { date: "", "retry-after": "4321" };
        assertFreeDay(await refusedBy(freeDay, { headers, env: clockOff(-7) }), 4321);
      },
    );

    rowCase(
      "contract, Refusals and errors over HTTP: rule 6",
      "seconds of a day where neither can be read",
      async () => {
        for (const headers of [{ date: "" }, { date: "yesterday noon", "retry-after": "soon" }]) {
          const before = secondsToReset(Date.now());
          const refused = await refusedBy(freeDay, { headers });
          const seconds = Number(/(\d+) s$/.exec(refused.told.hints[0].doc)?.[1]);
          assert(seconds >= 1 && seconds <= 86_400);
          assert((before - seconds + 86_400) % 86_400 <= 60);
          assertFreeDay(refused, seconds);
        }
      },
    );
  });

  describe("in every shape of a 429", () => {
    row(
      "contract, Refusals and errors over HTTP: rule 4",
      "name and scope are found wherever they stand, else the status decides",
      async () => {
        const body = JSON.stringify({ error: "too-many-runs", scope: "free-day" });
        assertFreeDay(await refusedBy({ name: "beside", body }));
        assertOrg(await refusedBy({ name: "nothing", body: "" }, { env: inABlink }));
      },
    );

    const statuses = [400, 402, 403, 409, 503].map((status) => ({
      ...freeDay,
      status,
      name: `status ${status}`,
    }));
    const freeDayRefusal: Refusal = { scope: "free-day", secondsToReset: secondsThere };
    casesOf([...scopedShapes("free-day"), ...statuses], freeDayRefusal);
    // Under 429 any of them would be one of scope `org`: under another status the name has to be found.
    const conflicts = scopedShapes("org").map((shape) => ({ ...shape, status: 409 }));
    casesOf([...conflicts, ...scopelessShapes], { scope: "org" });

    /** A case for each shape, by the client that the tool asks with: what the tool makes of a refusal is told above. */
    function casesOf(shapes: readonly RefusalShape[], refusal: Refusal): void {
      for (const shape of shapes) {
        rowCase(
          "contract, Refusals and errors over HTTP: rule 4",
          `${refusal.scope} with ${shape.name}`,
          async () => {
            await using service = await startsAnswered((_, response) =>
              sendShape(response, shape, { date: servedAt }),
            );
            const client = new ServiceClient({ baseUrl: new URL(service.origin), apiKey: givenKey });
            const attempt = await client.start(
              { pipeline: "nightly" },
              { waitSeconds: 0, idempotencyKey: "request" },
              new AbortController().signal,
            );
            assert(attempt.kind === "refused");
            assert.deepEqual(attempt.refusal, refusal);
          },
        );
      }
    }

    rowCase(
      "contract, Refusals and errors over HTTP: rule 4",
      "what has neither the name nor the status is no refusal",
      async () => {
        const others: readonly (RefusalShape & { readonly exitCode: number })[] = [
          {
            name: "another error",
            status: 403,
            body: '{"error":{"type":"forbidden","message":"no"}}',
            exitCode: 3,
          },
          {
            name: "a word in a sentence",
            status: 500,
            body: "too-many-runs",
            contentType: "text/plain",
            exitCode: 4,
          },
          { name: "a gateway", status: 503, body: "", exitCode: 4 },
        ];
        await Promise.all(
          others.map(async (shape) => {
            await using service = await startsAnswered((_, response) => sendShape(response, shape));
            const { exitCode, stdout } = await tool.call(["run", "nightly"], at(service));
            assert.equal(exitCode, shape.exitCode, shape.name);
            assert.equal(stdout, "", shape.name);
          }),
        );
      },
    );
  });
});

/** Answers what is asked of a run with its record. */
function runAsEnded(run: Readonly<Record<string, unknown>>): NonNullable<GivenOptions["besides"]> {
  return (asked, response) => {
    if (asked.path !== "/api/runs/run_1") return false;
    sendJson(response, 200, run);
    return true;
  };
}
