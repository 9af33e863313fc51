import assert from "node:assert/strict";
import { DummyDriver, Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler } from "kysely";
import type { Tables } from "../../../src/service/store/tables.ts";
import { followOtherServers } from "../../../src/team/admission/otherServers.ts";
import { FakeClock } from "../../clock/fakeClock.ts";
import { until } from "../../until.ts";

describe("what a server does for its waiters", () => {
  it("says once that the database is away, and again when it is away anew", async () => {
    const clock = new FakeClock();
    const logged: string[] = [];
    let asked = 0;
    let isAway = true;
    /** Has no rows. */
    class Empty extends DummyDriver {
      override acquireConnection() {
        asked += 1;
        return isAway ? Promise.reject(new Error("away")) : super.acquireConnection();
      }
    }
    const dialect = {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => new Empty(),
      createIntrospector: (db: Kysely<Tables>) => new PostgresIntrospector(db),
      createQueryCompiler: () => new PostgresQueryCompiler(),
    };
    const stop = followOtherServers({
      db: new Kysely<Tables>({ dialect }),
      admission: {
        tickets: () => [],
        claim: async () => {},
        reenter: async () => {},
        release: () => assert.fail("there is nothing to release"),
      },
      bus: { subscribeToAll: () => () => {}, emit: () => {} },
      clock,
      log: (level, message) => void logged.push(`${level}: ${message}`),
      holder: "server",
    });
    const rounds = async (count: number) => {
      for (const wanted = asked + count; asked < wanted; ) {
        clock.advance(250);
        await until(async () => clock.alarms > 0);
      }
    };
    await rounds(3);
    assert.deepEqual(logged, ["error: the queue could not be looked after, trying again"]);
    isAway = false;
    await rounds(4);
    isAway = true;
    await rounds(3);
    assert.equal(logged.length, 2);
    await stop();
  });
});
