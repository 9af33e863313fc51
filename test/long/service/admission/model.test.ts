import assert from "node:assert/strict";
import fc from "fast-check";
import {
  CoreModel,
  everyOutcome,
  type Happening,
  happenings,
  modelOrgs,
} from "../../../service/admission/coreModel.ts";
import { onBoth } from "../../../service/onBoth.ts";
import { startedOn } from "../../../service/startedCores.ts";

/** How many sequences of 30 to 80 things that happen; more for a longer search, as `MODEL_RUNS=1000`. */
const wanted = Number(process.env["MODEL_RUNS"] ?? 40);

onBoth("slots and runs", (store) => {
  // On PostgreSQL each takes as long as ten on SQLite.
  const sequences = store.kind === "SQLite" ? wanted : wanted / 4;
  // So few of them may miss an outcome.
  const examples: [Happening[]][] = store.kind === "SQLite" ? [] : [[everyOutcome]];

  it("keep every rule over thousands of starts, waits, ends, cancels, crashes and turns of the clock", async function () {
    this.timeout(sequences * 10_000);
    const seen = new Set<string>();
    await fc.assert(
      fc.asyncProperty(happenings, async (sequence) => {
        await using core = await startedOn(store, "2026-03-04T20:00:00Z", 2);
        const keys = [];
        for (const { name, ...limits } of modelOrgs) keys.push(await core.key(name, limits));
        const model = new CoreModel(core, keys);
        for (const happening of sequence) await model.make(happening);
        await model.finish();
        for (const outcome of await model.seen()) seen.add(outcome);
      }),
      // To look for the shortest sequence that fails would take longer than the test may.
      { numRuns: sequences + examples.length, endOnFailure: true, examples },
    );
    const all = [
      "started",
      "repeated",
      "org",
      "free-day",
      ...(store.kind === "SQLite" ? ["disk full"] : []),
      "succeeded",
      "cancelled",
      "timed-out",
      "lost",
    ];
    assert.deepEqual(
      all.filter((outcome) => !seen.has(outcome)),
      [],
      "never seen",
    );
  });
});
