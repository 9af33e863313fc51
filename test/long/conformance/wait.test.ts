import assert from "node:assert/strict";
import { runOnWire, sendJson } from "../../client/loopbackService.ts";
import { hurried } from "../../clock/preload.ts";
import { programPipeline, untilCancelled } from "../../service/startedService.ts";
import { at, sendShape, startsAnswered } from "./givenService.ts";
import { row, rowCase } from "./row.ts";
import { type Member, type ServedTool, servedTool } from "./servedTool.ts";
import { onlyObject, type Told } from "./watchedTool.ts";

const taken = { name: "org", body: '{"error":{"type":"too-many-runs","message":"taken","scope":"org"}}' };
const usedUp = { name: "free-day", body: '{"error":"too-many-runs","scope":"free-day"}' };
/** How many times as fast time passes for the tool, so that its 120 s are over in four. */
const times = 30;
const ended = runOnWire({ status: "succeeded", "stopped-at": "2026-03-03T10:00:02Z" });

interface Attempt {
  /** Milliseconds as they pass for the tool. */
  readonly at: number;
  /** Its `Prefer: wait`, in seconds. */
  readonly wait: number | undefined;
  readonly idempotencyKey: string | undefined;
  readonly pipeline: string;
}

describe("conformance: the wait", () => {
  let served: ServedTool;
  let inVain: Awaited<ReturnType<typeof waited>>;
  before(async () => {
    served = await servedTool();
    await served.write("hello", programPipeline(""));
    await served.write("long", programPipeline(untilCancelled, "1h"));
    inVain = await waited(["nightly"], (_, response) => sendShape(response, taken));
  });
  after(() => served[Symbol.asyncDispose]());

  /** The tool against a service that answers each attempt as told, by its number from 0. */
  async function waited(
    args: readonly string[],
    answer: (attempt: number, response: Parameters<typeof sendShape>[0]) => void,
    speed = times,
  ) {
    const attempts: Attempt[] = [];
    await using service = await startsAnswered(
      ({ headers, body }, response) => {
        const wait = /^wait=(\d+)$/.exec(String(headers["prefer"] ?? ""))?.[1];
        attempts.push({
          at: performance.now() * speed,
          wait: wait === undefined ? undefined : Number(wait),
          idempotencyKey: headers["idempotency-key"]?.toString(),
          pipeline: JSON.parse(body).pipeline,
        });
        answer(attempts.length - 1, response);
      },
      {
        besides: (asked, response) => {
          if (asked.path !== "/api/runs/run_1") return false;
          sendJson(response, 200, ended);
          return true;
        },
      },
    );
    const end = await served.run(["run", ...args], { ...at(service), ...hurried(speed) });
    return { ...end, attempts };
  }

  row(
    "description, Command-line tool: rule 1",
    "one pipeline alone waits 120 s for a slot that never comes",
    async () => {
      const { attempts } = inVain;
      const first = attempts[0]?.at ?? 0;
      const last = attempts.at(-1)?.at ?? 0;
      assert(last - first >= 119_500, `it stopped asking after ${last - first} ms`);
    },
  );

  row(
    "description, Command-line tool: rule 2",
    "then it ends with `too-many-runs` and a hint to cancel",
    async () => {
      const told = onlyObject(inVain.stdout);
      assert.equal(inVain.exitCode, 5);
      assert.equal(told.error.type, "too-many-runs");
      assert(told.hints.some(({ command }: Told) => command.startsWith("pipeline runs cancel")));
    },
  );

  row(
    "description, Limits: Wait of the tool…",
    "120 seconds by the tool's own count, which it tells the service",
    async () => {
      const waits = inVain.attempts.flatMap(({ wait }) => (wait === undefined ? [] : [wait]));
      assert((waits[0] ?? 0) <= 120);
      assert.deepEqual(
        waits,
        waits.toSorted((a, b) => b - a),
      );
      assert((waits.at(-1) ?? 120) < 20, "it asked until its time was over");
      // At the pace of everybody's clock: what is left when it begins to wait.
      const { attempts } = await waited(
        ["nightly"],
        (attempt, response) => sendShape(response, attempt === 0 ? taken : usedUp),
        1,
      );
      const wait = attempts[1]?.wait ?? 0;
      assert(wait >= 115 && wait <= 120, `it would wait ${wait} s`);
    },
  );

  row(
    "contract, The wait: rule 1",
    "it is asked until the slot is free, and then there is no refusal",
    async () => {
      const { exitCode, stdout, attempts } = await waited(["nightly", "--json"], (attempt, response) =>
        attempt < 3 ? sendShape(response, taken) : sendJson(response, 201, ended),
      );
      assert.equal(exitCode, 0);
      assert.equal(onlyObject(stdout).ok, true);
      assert.equal(attempts.length, 4);
    },
  );

  row(
    "contract, The wait: rule 2",
    "`free-day` is never waited for, neither at first nor in the middle of a wait",
    async () => {
      const atOnce = await waited(["nightly"], (_, response) => sendShape(response, usedUp));
      assert.deepEqual([atOnce.exitCode, atOnce.attempts.length], [5, 1]);
      const midway = await waited(["nightly"], (attempt, response) =>
        sendShape(response, attempt === 0 ? taken : usedUp),
      );
      assert.deepEqual([midway.exitCode, midway.attempts.length], [5, 2]);
      assert.match(onlyObject(midway.stdout).error.message, /\bfree-day\b/);
    },
  );

  row(
    "contract, The wait: rule 3",
    "the service holds who prefers to wait, and the first to come is the first served",
    async () => {
      const someone = await served.member();
      const run = await someone.start("long");
      const first = heldStart(someone, "hello");
      await inTheLine(someone);
      const second = heldStart(someone, "long");
      await inTheLine(someone);
      await someone.told("POST", `/api/runs/${run["run-id"]}/cancel`);
      const [one, two] = await Promise.all([first, second]);
      const stopped = await someone.told("GET", `/api/runs/${run["run-id"]}`);
      const oneStopped = await someone.stopped(one["run-id"]);
      assert(stopped["stopped-at"] <= one["created-at"]);
      assert(oneStopped["stopped-at"] <= two["created-at"]);
      await someone.told("POST", `/api/runs/${two["run-id"]}/cancel`);
      // Without it the service answers at once.
      const atOnce = await someone.ask("POST", "/api/runs", { body: { pipeline: "long", project: "shop" } });
      assert([201, 429].includes(atOnce.status));
      const inWork = (await someone.told("GET", "/api/runs?status=in-work")).runs;
      for (const { "run-id": id } of inWork) await someone.told("POST", `/api/runs/${id}/cancel`);
    },
  );

  rowCase(
    "contract, The wait: rule 3",
    "the tool waits at the real service and is started when the slot is given up",
    async () => {
      const someone = await served.member();
      const run = await someone.start("long");
      const waiting = served.spawn(["run", "hello", "--json"], someone.env);
      await untilItWaits(waiting.stderr);
      await someone.told("POST", `/api/runs/${run["run-id"]}/cancel`);
      const { exitCode, stdout, stderr } = await waiting;
      served.watched({ exitCode, stdout, stderr });
      assert.equal(exitCode, 0);
      const { runs } = onlyObject(stdout);
      const stopped = await someone.told("GET", `/api/runs/${run["run-id"]}`);
      assert(runs[0]["created-at"] >= stopped["stopped-at"]);
    },
  );

  row(
    "contract, The wait: rule 4",
    "a service that answers at once is asked again after a second at the least",
    async () => {
      const { attempts } = inVain;
      const pauses = pausesBetween(attempts);
      assert(pauses.length > 4);
      assert(average(pauses) >= 1000);
      // They grow to 5 s, of which no more than a third is taken off.
      assert(average(pauses.slice(4)) >= 3200, String(pauses));
      assert(new Set(pauses.map(Math.round)).size > 3, "they are not all the same");
    },
  );

  rowCase("contract, The wait: rule 4", "the service's `Retry-After` is kept in place of them", async () => {
    const { attempts, exitCode } = await waited(["nightly"], (_, response) =>
      sendShape(response, taken, { "retry-after": "8" }),
    );
    assert.equal(exitCode, 5);
    assert(average(pausesBetween(attempts)) >= 7_900);
    assert(attempts.length <= 18);
  });

  row("contract, The wait: rule 5", "who closes the connection is no longer in the line", async () => {
    const someone = await served.member();
    const run = await someone.start("long");
    const leaving = new AbortController();
    const left = heldStart(someone, "long", leaving.signal).catch(() => "left");
    await inTheLine(someone);
    leaving.abort();
    assert.equal(await left, "left");
    await inTheLine(someone);
    const next = heldStart(someone, "hello");
    await someone.told("POST", `/api/runs/${run["run-id"]}/cancel`);
    assert.equal((await next).pipeline, "hello");
    assert.equal((await someone.told("GET", "/api/org")).usage["runs-today"], 2);
  });

  row(
    "contract, The wait: rule 6",
    "each attempt of a start request has one key, another request another, and a repeated key the first run",
    async () => {
      const keys = new Set(inVain.attempts.map(({ idempotencyKey }) => idempotencyKey));
      assert.equal(keys.size, 1);
      assert((inVain.attempts[0]?.idempotencyKey ?? "").length > 0);
      const several = await waited(["one", "two"], (_, response) => sendJson(response, 201, ended), 1000);
      assert.equal(several.exitCode, 0);
      assert.equal(new Set(several.attempts.map(({ idempotencyKey }) => idempotencyKey)).size, 2);
      const someone = await served.member();
      const body = { pipeline: "hello", project: "shop" };
      const headers = { "idempotency-key": "the same request" };
      const first = await someone.told("POST", "/api/runs", { body, headers });
      const second = await someone.told("POST", "/api/runs", { body, headers });
      assert.equal(second["run-id"], first["run-id"]);
      assert.equal((await someone.told("GET", "/api/org")).usage["runs-today"], 1);
    },
  );

  rowCase(
    "contract, The wait: rule 6",
    "an attempt whose answer was lost is sent again under the same key",
    async () => {
      const { exitCode, attempts } = await waited(
        ["nightly"],
        (attempt, response) => {
          if (attempt < 2) response.destroy();
          else sendJson(response, 201, ended);
        },
        1000,
      );
      assert.equal(exitCode, 0);
      assert.equal(attempts.length, 3);
      assert.equal(new Set(attempts.map(({ idempotencyKey }) => idempotencyKey)).size, 1);
    },
  );

  row(
    "contract, The command-line tool: rule 4",
    "scope `org`, and the hints cancel first and then retry",
    async () => {
      const told = onlyObject(inVain.stdout);
      assert.match(told.error.message, /\borg\b/);
      assert.deepEqual(
        told.hints.map(({ command }: Told) => command),
        ["pipeline runs cancel --mine", "pipeline run nightly"],
      );
      assert.deepEqual(told.warnings, []);
    },
  );

  /** A start that the service may hold; its answer, which must be a run. */
  function heldStart(someone: Member, pipeline: string, signal?: AbortSignal): Promise<Told> {
    return someone.told("POST", "/api/runs", {
      body: { pipeline, project: "shop" },
      headers: { prefer: "wait=60" },
      ...(signal === undefined ? {} : { signal }),
    });
  }

  /** What was sent before has been looked at by the time that several questions after it are answered. */
  async function inTheLine(someone: Member): Promise<void> {
    for (let questions = 0; questions < 5; questions++) await someone.told("GET", "/api/org");
  }

  /** Resolves once the tool says that it waits. */
  function untilItWaits(stderr: NodeJS.ReadableStream | null): Promise<void> {
    return new Promise((resolve) => {
      let text = "";
      stderr?.on("data", (chunk: unknown) => {
        text += String(chunk);
        if (/wait/i.test(text)) resolve();
      });
    });
  }
});

/**
 * The milliseconds between the attempts that would wait. The first attempt of all asks for an answer at once, and the last
 * one comes when the time is over. One of them may come early by how long an answer took: only their sum says something.
 */
function pausesBetween(attempts: readonly Attempt[]): number[] {
  return attempts.slice(2, -1).map(({ at }, index) => at - (attempts[index + 1]?.at ?? 0));
}

function average(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0) / numbers.length;
}
