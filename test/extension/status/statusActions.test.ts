import assert from "node:assert/strict";
import manifest from "../../../package.json" with { type: "json" };
import { type StatusFacts, statusActionsFor } from "../../../src/extension/status/statusFacts.ts";
import { factsOf, live, run } from "./facts.ts";

const commandsFor = (facts: StatusFacts) =>
  statusActionsFor(facts).map(({ command }) => command.replace("pipelineRuns.", ""));

describe("the menu of the status bar", () => {
  it("offers to run first, and nothing to cancel when nothing is active", () => {
    const commands = commandsFor(factsOf(live(1)));
    assert.equal(commands[0], "run");
    for (const absent of ["cancelMine", "cancel", "whoHolds", "cancelRetry", "stopWaiting"])
      assert(!commands.includes(absent), absent);
  });

  it("offers to cancel one's own runs only when there are some, and what holds the slot whoever's it is", () => {
    assert(commandsFor(factsOf(live(1, [run]))).includes("cancelMine"));
    const others = commandsFor(factsOf(live(1, [{ ...run, actor: "key_2" }])));
    assert(!others.includes("cancelMine"));
    assert(others.includes("whoHolds") && others.includes("cancel"));
    assert(commandsFor(factsOf({ ...live(1), activeRuns: undefined })).includes("cancelMine"));
  });

  it("begins with the wait while one waits, and with what is deferred when there is something", () => {
    const waits = [{ pipeline: "hello", secondsLeft: 97 }];
    assert.equal(commandsFor(factsOf(live(1, [run]), { waits }))[0], "stopWaiting");
    assert.equal(commandsFor(factsOf(live(50), { deferred: "nightly at 00:00 UTC" }))[0], "cancelRetry");
  });

  it("offers to cancel what is deferred whatever is known of the service", () => {
    const deferred = "nightly at 00:00 UTC";
    assert(commandsFor(factsOf({ kind: "idle" }, { deferred })).includes("cancelRetry"));
    assert(commandsFor(factsOf({ kind: "connecting" }, { deferred })).includes("cancelRetry"));
    assert(!commandsFor(factsOf({ kind: "idle" })).includes("cancelRetry"));
  });

  it("doesn't begin with a run that would be refused when the day is used up", () => {
    const commands = commandsFor(factsOf(live(50)));
    assert.notEqual(commands[0], "run");
    assert(commands.includes("run"));
  });

  it("begins with what mends the state when there is no number", () => {
    const first = (state: StatusFacts["state"]) => commandsFor(factsOf(state, { reading: undefined }))[0];
    assert.equal(first({ kind: "no-key", origin: "https://cloud.example", refused: false }), "setApiKey");
    assert.equal(first({ kind: "out-of-reach", problem: "Refused.", retried: true }), "refresh");
    assert.equal(
      first({ kind: "out-of-reach", problem: "It is none.", retried: false }),
      "workbench.action.openSettings",
    );
    assert.equal(first({ kind: "stopped" }), "startService");
    assert.equal(first({ kind: "idle" }), "run");
  });

  it("offers only what the manifest contributes, and the editor's own", () => {
    const { commands, views } = manifest.contributes;
    const shown = Object.values(views).flatMap((list) => list.map(({ id }) => `${id}.focus`));
    const known = new Set([...commands.map(({ command }) => command), ...shown]);
    const states: readonly StatusFacts["state"][] = [
      { kind: "idle" },
      { kind: "connecting" },
      { kind: "no-key", origin: "x", refused: false },
      { kind: "out-of-reach", problem: "x", retried: true },
      { kind: "out-of-reach", problem: "x", retried: false },
      { kind: "stopped" },
      { kind: "not-supported", problem: "x" },
      live(1, [run]),
    ];
    const waits = [{ pipeline: "hello", secondsLeft: 97 }];
    for (const state of states) {
      const actions = statusActionsFor(factsOf(state, { waits, deferred: "hello at 00:00 UTC" }));
      const own = actions.map(({ command }) => command).filter((id) => id.startsWith("pipelineRuns."));
      for (const command of own) assert(known.has(command), `${state.kind}: ${command}`);
    }
  });
});
