import assert from "node:assert/strict";
import { watchLimits } from "../../../src/service/lifecycle/orgChanges.ts";
import { EventBus } from "../../../src/service/store/eventBus.ts";
import { idMaker } from "../../../src/service/store/ids.ts";
import { createKey } from "../../../src/service/store/keys.ts";
import { openDatabase } from "../../../src/service/store/openDatabase.ts";
import { setOrgLimits } from "../../../src/service/store/orgs.ts";
import { FakeClock } from "../../clock/fakeClock.ts";
import { temporaryFolder } from "../../temporaryFolder.ts";
import { quiet } from "../startedCore.ts";

describe("the limits that another process sets", () => {
  const folder = temporaryFolder();

  it("are read once it has written, sent to the faces of their org, and those who wait are decided on anew", async () => {
    const clock = new FakeClock("2026-03-04T12:00:00Z");
    const [own, other] = [await openDatabase(folder.path), await openDatabase(folder.path)];
    const deps = { now: clock.now, makeId: idMaker(clock.now) };
    const add = (orgName: string) => createKey(other, { orgName, role: "owner" }, deps);
    const { orgId } = await add("Acme");
    const seen = { reads: 0, reviews: 0, events: 0 };
    const db = own.withPlugin({
      transformQuery: ({ node }) => {
        if (node.kind === "SelectQueryNode") seen.reads += 1;
        return node;
      },
      transformResult: async ({ result }) => result,
    });
    const bus = new EventBus();
    bus.subscribe(orgId, () => {
      seen.events += 1;
    });
    const review = async () => {
      seen.reviews += 1;
    };
    const stop = watchLimits({ db, clock, bus, admission: { review }, log: () => {} });
    const second = async () => {
      clock.advance(1_000);
      await quiet();
      return { ...seen };
    };
    try {
      await quiet();
      assert.deepEqual(await second(), { reads: 1, reviews: 0, events: 0 });
      // Its own writes are no news.
      await own.updateTable("orgs").set({ tier: "team" }).execute();
      assert.deepEqual(await second(), { reads: 1, reviews: 0, events: 0 });
      await other.transaction().execute((tx) => setOrgLimits(tx, "Acme", { runsPerDay: 500 }));
      assert.deepEqual(await second(), { reads: 2, reviews: 1, events: 1 });
      await add("Lamps");
      assert.deepEqual(await second(), { reads: 3, reviews: 2, events: 1 });
      assert.deepEqual(await second(), { reads: 3, reviews: 2, events: 1 });
    } finally {
      await stop();
      await own.destroy();
      await other.destroy();
    }
  });
});
