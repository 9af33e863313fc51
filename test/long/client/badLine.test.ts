import assert from "node:assert/strict";
import { connect, type Socket } from "node:net";
import fc from "fast-check";
import { followLog } from "../../../src/client/follow/followLog.ts";
import { followRun } from "../../../src/client/follow/followRun.ts";
import { ServiceClient } from "../../../src/client/service/client.ts";
import { loopbackFetch } from "../../../src/client/service/loopbackFetch.ts";
import { LostStart } from "../../../src/client/service/replyErrors.ts";
import { startRun } from "../../../src/client/start/startRun.ts";
import { PipelineError } from "../../../src/contract/errors.ts";
import { systemClock } from "../../../src/machine/clock.ts";
import { Listening } from "../../listening.ts";
import { ended, programPipeline, startedService } from "../../service/startedService.ts";

const never = new AbortController().signal;

/** Bytes of a connection, counted over all its requests: within a request or a reply, or after several. */
const bytes = fc.oneof(fc.nat(40), fc.nat(600), fc.nat(4000));
/** What is wrong with one connection: it breaks once so many bytes have passed one way, or all that is sent arrives twice. */
const fault = fc.oneof(
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("request" as const), bytes }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("reply" as const), bytes }) },
  { weight: 1, arbitrary: fc.constant({ kind: "twice" as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: "none" as const }) },
);
const faults = fc.array(fault, { minLength: 1, maxLength: 4 });
type Fault = typeof fault extends fc.Arbitrary<infer T> ? T : never;

function carry(near: Socket, port: number, fault: Fault): void {
  const far = connect(port, "127.0.0.1").on("error", () => {});
  near.once("close", () => far.destroy());
  far.once("close", () => near.destroy());
  const pass = (from: Socket, to: Socket, most: number) => {
    let left = most;
    from.on("data", (bytes) => {
      to.write(bytes.subarray(0, left), () => left <= 0 && from.destroy());
      left -= bytes.length;
    });
  };
  pass(near, far, fault.kind === "request" ? fault.bytes : Number.POSITIVE_INFINITY);
  pass(far, near, fault.kind === "reply" ? fault.bytes : Number.POSITIVE_INFINITY);
  if (fault.kind !== "twice") return;
  const other = connect(port, "127.0.0.1")
    .on("error", () => {})
    .resume();
  near.on("data", (bytes) => other.write(bytes)).once("close", () => other.destroy());
}

describe("a start over a line that breaks, whatever is cut and wherever", function () {
  this.timeout(300_000);

  it("makes one run at most, is told as it is, and is followed to its end with every entry of its log once", async () => {
    await using service = await startedService();
    const { secret, client } = await service.member();
    await service.db.updateTable("orgs").set({ runs_per_day: 1000 }).execute();
    await service.write("quick", programPipeline("for (let n = 0; n < 20; n++) console.log('line', n)"));
    let starts = 0;
    await fc.assert(
      fc.asyncProperty(faults, faults, async (starting, following) => {
        const rows = () => service.db.selectFrom("runs").select("id").execute();
        const before = new Set((await rows()).map(({ id }) => id));
        let coming = [...starting];
        const port = Number(new URL(service.url).port);
        await using line = await Listening.of((near) =>
          carry(near, port, coming.shift() ?? { kind: "none" }),
        );
        const overLine = new ServiceClient({
          baseUrl: new URL(line.origin),
          apiKey: secret,
          fetch: loopbackFetch(),
          retries: {},
          // It pauses for less than 10 s, and gives nobody less to answer.
          clock: {
            ...systemClock,
            sleep: (time, signal) => systemClock.sleep(time < 10_000 ? 5 : time, signal),
          },
        });
        const told = <T>(promise: Promise<T>) =>
          promise.catch((error: unknown) => {
            assert(error instanceof PipelineError && error.type === "out-of-reach", String(error));
            return error;
          });
        const deps = { client: overLine, onWaiting: () => {}, waitSeconds: 20 };
        const start = await told(startRun({ pipeline: "quick" }, deps, never));
        const made = (await rows()).filter(({ id }) => !before.has(id));
        assert(made.length <= 1, "one start has made two runs");
        const [row] = made;
        if (start instanceof Error) {
          // The service takes back a run whose caller it could not tell.
          assert(
            row === undefined || start instanceof LostStart,
            "a start failed, and its run is there untold",
          );
          return;
        }
        assert(start.kind === "started");
        assert.equal(start.run.runId, row?.id);
        starts += 1;
        coming = [...following];
        line.cut();
        const { run } = start;
        const entries: unknown[] = [];
        const onGap = () => assert.fail("a log has a gap");
        const [end, log] = await Promise.all([
          told(followRun(overLine, run, () => {}, never)),
          told(
            followLog(
              overLine,
              run.runId,
              { follow: true, onGap },
              (entry) => void entries.push(entry),
              never,
            ),
          ),
        ]);
        const whole: unknown[] = [];
        const { status } = await ended(client, run);
        await followLog(
          client,
          run.runId,
          { follow: false, onGap },
          (entry) => void whole.push(entry),
          never,
        );
        if (!(end instanceof Error)) assert.equal(end.status, status);
        if (!(log instanceof Error)) assert.deepEqual(entries, whole);
      }),
      { numRuns: 40, endOnFailure: true },
    );
    assert(starts > 0, "none was started");
  });
});
