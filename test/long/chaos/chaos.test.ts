import assert from "node:assert/strict";
import { join } from "node:path";
import { projectRoot } from "../../../scripts/projectRoot.ts";
import { campaigns } from "../../chaos/campaigns.ts";
import { runCampaigns } from "../../chaos/runCampaigns.ts";
import { table } from "../../chaos/table.ts";
import { itOn } from "../../itOn.ts";

/** No time at all: one round of each campaign is played to its end. */
const seconds = 0;
/** The same acts each time, at other moments: a change is judged by what it breaks. `npm run chaos` takes another each time. */
const seed = 20_261_132;

describe("what is ran", function () {
  this.timeout(700_000);
  // What lives is looked up in every process's environment, which Linux alone shows.
  itOn("linux", "keeps every promise, over a round of faults of every kind", async () => {
    const told: string[] = [];
    const outcomes = await runCampaigns({
      campaigns,
      seed,
      seconds,
      signal: new AbortController().signal,
      say: (line) => told.push(line),
      results: join(projectRoot, "test-results", "chaos"),
    });
    const lines = table(outcomes, { seed, seconds });
    console.log(lines.join("\n"));
    assert.deepEqual(told, []);
    for (const { campaign, counts } of outcomes) {
      assert(counts.acts > 0 && counts.checks > 0, `${campaign} has looked at nothing`);
    }
  });
});
