import assert from "node:assert/strict";
import * as fc from "fast-check";
import { followRun } from "../../../src/client/follow/followRun.ts";
import { listRuns } from "../../../src/client/follow/listRuns.ts";
import { registerProject } from "../../../src/client/project.ts";
import { AbsentEndpoint, LostStart } from "../../../src/client/service/replyErrors.ts";
import { cancelEach, myActiveRuns } from "../../../src/client/start/cancelRuns.ts";
import { slotHolders } from "../../../src/client/start/slotHolders.ts";
import { startRun } from "../../../src/client/start/startRun.ts";
import { PipelineError } from "../../../src/contract/errors.ts";
import { quotaText } from "../../../src/contract/limits.ts";
import { testKey } from "../loopbackService.ts";
import { type AnyService, anyServices, generated, ServedAny } from "./anyService.ts";

const never = new AbortController().signal;
const second = 1000;

/** Holds for any service: what `tried` finds, and that nothing was sent elsewhere nor the key told in an error. */
async function forAny(tried: (served: ServedAny, any: AnyService) => Promise<unknown>): Promise<void> {
  await fc.assert(
    fc.asyncProperty(anyServices, async (any) => {
      await using served = await ServedAny.listen(any);
      const error = await tried(served, any);
      assert.equal(served.elsewhere.asked.length, 0, "something was sent elsewhere");
      if (error === undefined) return;
      assert(error instanceof PipelineError, String(error));
      assert(!`${error.message} ${error.next}`.includes(testKey), "the key is told");
    }),
    generated.parameters,
  );
}

describe(`any service that has what is given (${generated.text})`, function () {
  this.timeout(600_000);

  it("has its number shown, whatever it has of ours", async () => {
    await forAny(async (served, { used, perDay }) => {
      const { value, took } = await served.settled(served.persistent.org(never));
      assert.equal(value && quotaText(value), `${used} of ${perDay} runs used today`);
      assert.equal(took, 0);
      return undefined;
    });
  });

  it("has no run that was started told as not started, nor followed beyond its end", async () => {
    await forAny(async (served, { end, ways }) => {
      await served.settled(registerProject(served.persistent, { name: "p", root: "/p" }, never));
      const deps = { client: served.persistent, onWaiting: () => {}, patienceSeconds: 120 };
      const start = await served.settled(startRun({ pipeline: "nightly" }, deps, never));
      assert(start.took <= 200 * second, `the start took ${start.took} ms`);
      assert(served.starts <= 1);
      if (start.value?.kind !== "started") {
        const isDoubt = start.error instanceof LostStart;
        if (served.starts > 0) assert(isDoubt, `told as not started: ${start.error}`);
        assert.equal(start.value?.kind === "refused", ways.start.kind === "refused");
        return start.error;
      }
      assert.equal(served.starts, 1);
      const { run } = start.value;
      assert.equal(run.runId, served.startedRun?.id);
      assert.equal(run.pipeline, "nightly");
      const followed = await served.settled(followRun(served.persistent, run, () => {}, never));
      assert(followed.took <= end.after + 150 * second, `the following took ${followed.took} ms`);
      if (followed.value !== undefined) assert.equal(followed.value.status, served.startedRun?.status);
      else assert(followed.error instanceof AbsentEndpoint, String(followed.error));
      return followed.error;
    });
  });

  it("has nothing cancelled that isn't one's own, and all that is where it tells of it", async () => {
    await forAny(async (served, { ways, before }) => {
      const { mine } = served;
      const listed = await served.settled(myActiveRuns(served.persistent, never));
      assert(listed.took <= 100 * second);
      if (listed.value === undefined) {
        assert(listed.error instanceof AbsentEndpoint, String(listed.error));
        return listed.error;
      }
      const runIds = listed.value.mine.map(({ runId }) => runId);
      await served.settled(cancelEach(served.persistent, runIds, never));
      const tellsActors = ways.list.kind === "there" && ways.list.shape !== "without actor";
      assert.deepEqual(served.cancelled.toSorted(), tellsActors ? mine.toSorted() : []);
      if (!tellsActors) assert(listed.value.nobodys.length <= before.length);
      return undefined;
    });
  });

  it("has a cancel by id done, and lists and holders that fail within their time", async () => {
    await forAny(async (served, { before }) => {
      for (const { id } of before) {
        const { value } = await served.settled(served.persistent.cancel(id, never));
        assert.deepEqual(value, { runId: id, status: "cancelled" });
      }
      const holders = await served.settled(slotHolders(served.client, never));
      assert(holders.took <= 10 * second && holders.error === undefined);
      const listed = await served.settled(listRuns(served.persistent, { statuses: [], limit: 20 }, never));
      assert(listed.took <= 100 * second);
      return listed.error;
    });
  });
});
