import assert from "node:assert/strict";
import { systemClock } from "../../src/client/clock.ts";
import { written } from "../cli/toolbox.ts";
import { runOnWire, sendJson } from "../client/loopbackService.ts";
import { programPipeline, untilCancelled } from "../service/startedService.ts";
import { at, givenService, startsAnswered } from "./givenService.ts";
import { posixRow, posixRowCase } from "./row.ts";
import { type ServedTool, servedTool } from "./servedTool.ts";
import { sendShape } from "./shapes.ts";
import { onlyObject, type Told } from "./watchedTool.ts";

const id = "contract, The command-line tool: rule 9";
const interrupted = 130;

describe("conformance: Ctrl-C", () => {
  let served: ServedTool;
  before(async () => {
    served = await servedTool();
    await served.write("hello", programPipeline(""));
    await served.write("long", programPipeline(untilCancelled, "1h"));
    await served.write(
      "stubborn",
      programPipeline(`process.on('SIGTERM', () => {}); ${untilCancelled}`, "1h"),
    );
  });
  after(() => served[Symbol.asyncDispose]());

  /** The tool once it has ended, with what holds for every end. */
  async function endOf(running: ReturnType<ServedTool["spawn"]>) {
    const { exitCode, stdout, stderr } = await running;
    return served.watched({ exitCode, stdout, stderr });
  }

  posixRow(id, "while following, the run is cancelled and its place is free when the tool ends", async () => {
    const someone = await served.member();
    const running = served.spawn(["run", "long"], someone.env);
    await written(running.stderr, /run_\w+/);
    running.kill("SIGINT");
    const { exitCode } = await endOf(running);
    assert.equal(exitCode, interrupted);
    const { runs } = await someone.told("GET", "/api/runs");
    assert.deepEqual(
      runs.map(({ status }: Told) => status),
      ["cancelled"],
    );
    assert.equal((await someone.start("hello")).status, "running");
  });

  posixRowCase(
    id,
    "while waiting, the turn is given up: no run is made, and the next to ask is served",
    async () => {
      const someone = await served.member();
      const run = await someone.start("long");
      const waiting = served.spawn(["run", "long", "--json"], someone.env);
      await written(waiting.stderr, /wait/i);
      waiting.kill("SIGINT");
      const { exitCode, stdout } = await endOf(waiting);
      assert.equal(exitCode, interrupted);
      assert.equal(onlyObject(stdout).ok, false);
      await someone.told("POST", `/api/runs/${run["run-id"]}/cancel`);
      await someone.stopped(run["run-id"]);
      assert.equal((await someone.start("hello")).status, "running");
      assert.equal((await someone.told("GET", "/api/org")).usage["runs-today"], 2);
    },
  );

  posixRowCase(
    id,
    "while the service holds the start, its connection is closed and nothing else is asked",
    async () => {
      await using service = await startsAnswered(async ({ headers }, response, gone) => {
        if (headers["prefer"] === undefined)
          sendShape(response, { name: "", body: '{"error":"too-many-runs"}' });
        else await service.hold(systemClock, 600_000, gone);
      });
      const waiting = served.spawn(["run", "nightly"], at(service));
      await service.until(() => service.held === 1);
      waiting.kill("SIGINT");
      assert.equal((await endOf(waiting)).exitCode, interrupted);
      await service.until(() => service.held === 0);
      assert.equal(service.asked.filter(({ path }) => path.endsWith("/cancel")).length, 0);
    },
  );

  posixRowCase(id, "while the start is being answered, its run is cancelled once it is known", async () => {
    await using service = await startsAnswered(async (_, response) => {
      waiting.kill("SIGINT");
      sendJson(response, 201, runOnWire());
    });
    const waiting = served.spawn(["run", "nightly"], at(service));
    assert.equal((await endOf(waiting)).exitCode, interrupted);
    assert.deepEqual(
      service.asked.filter(({ path }) => path.endsWith("/cancel")).map(({ path }) => path),
      ["/api/runs/run_1/cancel"],
    );
  });

  posixRowCase(
    id,
    "while the look at its run fails, the cancel is carried through all the same",
    async () => {
      const cancels = () => service.asked.filter(({ path }) => path.endsWith("/cancel")).length;
      await using service = await startsAnswered((_, response) => sendJson(response, 201, runOnWire()), {
        besides: async ({ path }, response) => {
          if (path === "/api/runs/run_1") {
            waiting.kill("SIGINT");
            await service.until(() => cancels() === 1);
            sendJson(response, 404, { error: "not-found" });
            return true;
          }
          if (cancels() !== 1 || !path.endsWith("/cancel")) return false;
          await service.until(() => service.asked.some(({ path }) => path === "/api/runs/run_1"));
          setTimeout(() => response.destroy(), 300);
          return true;
        },
      });
      const waiting = served.spawn(["run", "nightly"], at(service));
      assert.equal((await endOf(waiting)).exitCode, interrupted);
      assert.equal(cancels(), 2);
    },
  );

  posixRowCase(id, "a second one leaves at once, and the run goes on being ended", async () => {
    const someone = await served.member();
    const running = served.spawn(["run", "stubborn"], someone.env);
    await written(running.stderr, /run_\w+/);
    const [run] = (await someone.told("GET", "/api/runs")).runs;
    running.kill("SIGINT");
    let status = "";
    while (status !== "cancelling") status = (await someone.told("GET", `/api/runs/${run["run-id"]}`)).status;
    running.kill("SIGINT");
    const { exitCode } = await endOf(running);
    assert.equal(exitCode, interrupted);
    const after = await someone.told("GET", `/api/runs/${run["run-id"]}`);
    assert.equal(after["stopped-at"], undefined, "it didn't wait for the place");
  });

  posixRowCase(id, "of several pipelines none is begun after it", async () => {
    const someone = await served.member();
    const running = served.spawn(["run", "long", "hello", "hello"], someone.env);
    await written(running.stderr, /run_\w+/);
    running.kill("SIGINT");
    assert.equal((await endOf(running)).exitCode, interrupted);
    assert.equal((await someone.told("GET", "/api/org")).usage["runs-today"], 1);
  });

  posixRowCase(id, "at a service that says nothing, the tool ends all the same", async () => {
    await using service = await givenService({
      besides: async (_asked, _response, gone) => {
        await service.hold(systemClock, 600_000, gone);
        return true;
      },
    });
    const asking = served.spawn(["org"], at(service));
    await service.until(() => service.held === 1);
    asking.kill("SIGINT");
    const { exitCode, stdout } = await endOf(asking);
    assert.deepEqual([exitCode, stdout], [interrupted, ""]);
  });
});
