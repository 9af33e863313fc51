import assert from "node:assert/strict";
import { bar, writeTooltip } from "../../../src/extension/status/quotaStatus.ts";
import type { StatusFacts } from "../../../src/extension/status/statusFacts.ts";
import { timeOfDay } from "../../../src/text/time.ts";
import { factsOf, live, noon, run } from "./facts.ts";

/** What is written, with texts between angle brackets, so that a test sees what the editor escapes. */
function written(facts: StatusFacts) {
  const into = {
    value: "",
    isTrusted: undefined as unknown,
    appendMarkdown(text: string) {
      into.value += text;
      return into;
    },
    appendText(text: string) {
      into.value += `<${text}>`;
      return into;
    },
  };
  writeTooltip(facts, into as never);
  // Each word of a text is written for itself.
  into.value = into.value.replaceAll("> <", " ").replaceAll("<>", "");
  return into;
}

describe("the tooltip of the status bar", () => {
  it("names org, tier, the day's use as a bar, the reset, the slots and how fresh it is", () => {
    const { value } = written(factsOf(live(12, [run])));
    assert.match(value, /\*\*<Lamps>\*\* · <tier free>/);
    assert.match(value, /`━{5}─{15}` <12 of 50 runs used today>/);
    assert.match(value, /<The count starts again at 00:00 UTC( \(.+ your time\))?, in 12 h\.>/);
    assert.match(value, /<The slot is in use>: <nightly \(yours\)>/);
    assert.match(written(factsOf(live(12))).value, /<The slot is free\.>/);
    assert.match(value, /<Live updates>/);
  });

  it("says nothing of pipelines for a service whose runs have only the given fields", () => {
    const use = { byPipeline: [], byActor: [{ actor: "key_1", name: "key_1", runs: 3 }] };
    assert.match(written(factsOf(live(3), { use })).value, /<Started by you 3>/);
    const none = { byPipeline: [], byActor: [] };
    assert.doesNotMatch(written(factsOf(live(3), { use: none })).value, /\$\(graph\)/);
  });

  it("says who used the day's runs, and when they are used up at this pace", () => {
    const use = {
      byPipeline: [{ name: "nightly", runs: 30 }],
      byActor: [
        { actor: "key_1", actorName: "me", name: "me", runs: 20 },
        { actor: "key_9", actorName: "ada", name: "ada", runs: 10 },
      ],
    };
    const { value } = written(factsOf(live(30), { use }));
    assert.match(value, /<Used by nightly 30; started by you 20, ada 10>/);
    const end = timeOfDay(noon + (12 * 3_600_000 * 20) / 30);
    assert.ok(
      value.includes(`<At this pace the day's last run starts at about ${end}.>`.replaceAll("\u202f", " ")),
      value,
    );
  });

  it("tells the place in the queue of a start that waits", () => {
    const waits = [{ pipeline: "hello", secondsLeft: 97, place: { place: 2, waiting: 3 } }];
    assert.match(written(factsOf(live(2, [run]), { waits })).value, /<hello: 2nd of 3 in the queue>/);
  });

  it("says whose the runs of others are, and doesn't name more than a few", () => {
    const others = Array.from({ length: 7 }, (_, index) => ({
      ...run,
      runId: `run_${index}`,
      actor: "key_9",
    }));
    const { value } = written(factsOf(live(12, others, { parallelRuns: 10 })));
    assert.match(value, /<7 of 10 slots in use>/);
    assert.equal(value.split("nightly (by key_9)").length - 1, 5);
    assert.match(value, /and 2 more>/);
  });

  it("counts to the reset on the service's clock, though this machine's is hours off", () => {
    const reading = { how: "asked", at: noon, servedAt: noon + 11 * 3_600_000 } as const;
    const { value } = written(factsOf(live(1), { reading, now: noon + 30 * 60_000 }));
    assert.match(value, /in 30 min\./);
    assert.match(value, /<As of .+; refreshed from time to time>/);
  });

  it("shows no number of another day", () => {
    const { value } = written(factsOf(live(12), { reading: undefined }));
    assert.doesNotMatch(value, /12 of|━/);
    assert.match(value, /A new day began/);
  });

  it("says nothing of slots where the service doesn't tell of runs", () => {
    const state = { ...live(3), activeRuns: undefined };
    assert.doesNotMatch(written(factsOf(state)).value, /slots/);
  });

  it("says which service and key are in use, and where that comes from", () => {
    const own = { name: "This machine's own service", isOwn: true, source: "default" } as const;
    assert.match(written(factsOf(live(1), { used: own })).value, /<This machine's own service>/);
    const chosen = { name: "cloud.example", isOwn: false, source: "chosen" } as const;
    assert.match(
      written(factsOf(live(1), { used: chosen })).value,
      /<cloud\.example, with the key key_1 \(chosen for this workspace\)>/,
    );
  });

  it("links to commands, and lets no other be run", () => {
    const { value, isTrusted } = written(factsOf(live(1, [run])));
    assert.match(value, /\[\$\(play\)&nbsp;Run Pipeline…\]\(command:pipelineRuns\.run\)/);
    const linked = [...value.matchAll(/\(command:([\w.]+)/g)].map(([, command]) => command);
    assert.deepEqual(isTrusted, { enabledCommands: linked });
  });

  it("writes what comes from elsewhere as text", () => {
    const state = live(1, [{ ...run, pipeline: "[x](command:evil)" }]);
    const evil = { ...state, org: { ...state.org, orgName: "**[x](command:evil)**", tier: "$(bug)" } };
    const { value } = written(factsOf(evil));
    assert.equal(value.replaceAll(/<[^>]*>/g, "").includes("evil"), false);
    assert.equal(value.replaceAll(/<[^>]*>/g, "").includes("bug"), false);
    const problem = written(factsOf({ kind: "out-of-reach", problem: "[x](command:evil)", retried: true }));
    assert.equal(problem.value.replaceAll(/<[^>]*>/g, "").includes("evil"), false);
  });

  it("never shows a used day as an empty one, nor one that has runs left as used up", () => {
    const of = (runsToday: number, runsPerDay: number) => bar(live(runsToday, [], { runsPerDay }).org);
    assert.equal(of(0, 50), "─".repeat(20));
    assert.equal(of(1, 1000), `━${"─".repeat(19)}`);
    assert.equal(of(999, 1000), `${"━".repeat(19)}─`);
    assert.equal(of(50, 50), "━".repeat(20));
    assert.equal(of(70, 50), "━".repeat(20));
    assert.equal(of(0, 0), "━".repeat(20));
  });
});
