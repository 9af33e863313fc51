import assert from "node:assert/strict";
import fc from "fast-check";
import type { Run } from "../../../src/contract/run.ts";
import { isActive } from "../../../src/contract/runStatus.ts";
import type { RunListState } from "../../../src/extension/session/runList.ts";
import { runViewRow } from "../../../src/extension/views/runRow.ts";
import {
  type Redraw,
  type RunNode,
  type RunRowNode,
  RunTree,
  untilNextDay,
} from "../../../src/extension/views/runTree.ts";

const now = Date.parse("2026-03-03T12:00:00Z");
const seen = { me: "key_1", serviceNow: now, now };

function aRun(runId: string, others: Partial<Run> = {}): Run {
  return {
    runId,
    pipeline: "nightly",
    project: "shop",
    status: "succeeded",
    actor: "key_1",
    runner: "local",
    createdAt: "2026-03-03T10:00:00Z",
    timeLimitSeconds: 30,
    ...(others.status === "running" ? {} : { stoppedAt: "2026-03-03T10:00:05Z" }),
    ...others,
  };
}

function listed(runs: readonly Run[], hasMore = false): RunListState {
  return { kind: "listed", runs, hasMore, me: "key_1", clockAhead: 0 };
}

/** The tree as rows show it: the groups with the ids of what is in them. */
function shown(tree: RunTree): Record<string, string[]> {
  return Object.fromEntries(
    tree.roots.map((group) => [group.group, group.children.map((child) => runViewRow(child, seen).id)]),
  );
}

describe("the rows of the Runs view", () => {
  it("name their projects while the listed runs are of several, and are all redrawn when that changes", () => {
    const tree = new RunTree();
    const lamps = aRun("run_2", { project: "lamps" });
    tree.update(listed([aRun("run_1")]), now);
    assert.equal(tree.namesProjects, false);
    assert.equal(tree.update(listed([lamps, aRun("run_1")]), now), "all");
    assert.equal(tree.namesProjects, true);
    tree.update(listed([lamps]), now);
    assert.equal(tree.namesProjects, false);
  });

  it("are active first, then today's by the UTC day, then earlier ones, each newest first", () => {
    const tree = new RunTree();
    tree.update(
      listed([
        aRun("run_5", { createdAt: "2026-03-03T11:00:00Z" }),
        aRun("run_4", { createdAt: "2026-03-03T00:00:00Z" }),
        aRun("run_3", { createdAt: "2026-03-02T23:59:59.999Z" }),
        aRun("run_2", { createdAt: "2026-03-02T10:00:00Z", status: "running" }),
        aRun("run_1", { createdAt: "2026-03-03T00:30:00+01:00" }),
      ]),
      now,
    );
    assert.deepEqual(shown(tree), {
      active: ["runs/run_2"],
      today: ["runs/run_5", "runs/run_4"],
      earlier: ["runs/run_3", "runs/run_1"],
    });
  });

  it("have no group without runs, and none at all while nothing is known", () => {
    const tree = new RunTree();
    tree.update(listed([aRun("run_1")]), now);
    assert.deepEqual(Object.keys(shown(tree)), ["today"]);
    assert.equal(tree.update({ kind: "unknown" }, now), "all");
    assert.deepEqual(tree.roots, []);
  });

  it("end with the row for older runs, which is another one after each page", () => {
    const tree = new RunTree();
    const first = [aRun("run_3"), aRun("run_2")];
    tree.update(listed(first, true), now);
    assert.deepEqual(shown(tree), { today: ["runs/run_3", "runs/run_2", "older/run_2"] });
    const old = aRun("run_1", { createdAt: "2026-03-01T10:00:00Z" });
    assert.equal(tree.update(listed([...first, old], true), now), "all");
    assert.deepEqual(shown(tree)["earlier"], ["runs/run_1", "older/run_1"]);
    // A new run loads nothing anew, since the oldest is the same.
    const more = [aRun("run_4", { createdAt: "2026-03-03T11:00:00Z" }), ...first, old];
    assert.deepEqual(names(tree.update(listed(more, true), now)), ["today"]);
  });

  it("are drawn again only where something has changed", () => {
    const tree = new RunTree();
    const still = aRun("run_2");
    const before = { ...aRun("run_1", { status: "running" }), steps: [] };
    tree.update(listed([still, before]), now);
    const told = { ...before, steps: [{ name: "one", type: "cli", status: "running" }] };
    assert.deepEqual(names(tree.update(listed([still, told]), now)), ["run_1"]);
    assert.deepEqual(tree.update(listed([still, told]), now), []);
    // Whoever asked for its steps draws them.
    const asked = { ...still, steps: [] };
    assert.deepEqual(tree.update(listed([asked, told]), now), []);
    assert.deepEqual(
      names(tree.update(listed([{ ...asked, stoppedAt: "2026-03-03T10:00:05Z" }, told]), now)),
      ["run_2"],
    );
    // A run that leaves one group for another: the editor must forget it before it is shown anew.
    assert.equal(tree.update(listed([still, aRun("run_1")]), now), "all");
  });

  it("go from Today to Earlier when the service's day ends", () => {
    const tree = new RunTree();
    tree.update(listed([aRun("run_1")]), now);
    assert.equal(tree.update(listed([aRun("run_1")]), now + 12 * 3_600_000), "all");
    assert.deepEqual(Object.keys(shown(tree)), ["earlier"]);
    assert.equal(untilNextDay(now, now) <= 12 * 3_600_000, true);
  });

  it("keep their objects and ids, and draw all that has changed, in any sequence of news", () => {
    const news = fc.record({
      id: fc.integer({ min: 1, max: 6 }),
      status: fc.constantFrom("running", "cancelling", "succeeded", "failed", "odd"),
      day: fc.integer({ min: 1, max: 3 }),
      gone: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(news, { maxLength: 30 }), fc.boolean(), (sequence, hasMore) => {
        const tree = new RunTree();
        const runs = new Map<string, Run>();
        const objects = new Map<string, RunNode>();
        let drawn = drawing(tree);
        for (const { id, status, day, gone } of sequence) {
          const runId = `run_${id}`;
          const run = aRun(runId, { status, createdAt: `2026-03-0${day}T10:00:00Z` });
          if (gone) runs.delete(runId);
          else runs.set(runId, run);
          const redraw = tree.update(listed([...runs.values()], hasMore), now);
          drawn = redrawn(drawn, redraw, tree);
          assert.deepEqual(drawn, drawing(tree));
          const rows = rowsOf(tree);
          const ids = rows.map((row) => runViewRow(row, seen).id);
          assert.equal(new Set(ids).size, ids.length);
          assert.equal(rows.length, runs.size);
          for (const row of rows) {
            assert.equal(row.run, runs.get(row.runId));
            assert.equal(objects.get(row.runId) ?? row, row);
            assert.equal(tree.activeRuns.includes(row), isActive(row.run));
          }
          objects.clear();
          for (const row of rows) objects.set(row.runId, row);
        }
      }),
    );
  });

  /** What the editor has drawn: for each group its rows, and for each row what it said then. */
  type Drawn = Record<string, (string | Run)[]>;

  function drawing(tree: RunTree): Drawn {
    return Object.fromEntries(tree.roots.map((group) => [group.group, group.children.map(drawnRow)]));
  }

  /** As the editor does it: all anew, or only the elements that it is told of. */
  function redrawn(before: Drawn, redraw: Redraw, tree: RunTree): Drawn {
    const fresh = drawing(tree);
    if (redraw === "all") return fresh;
    const after = { ...before };
    for (const node of redraw) {
      if (node.kind === "group") after[node.group] = fresh[node.group] ?? [];
      if (node.kind !== "run") continue;
      for (const group of tree.roots) {
        const at = group.children.indexOf(node);
        if (at >= 0) after[group.group] = (after[group.group] ?? []).with(at, drawnRow(node));
      }
    }
    return after;
  }

  function drawnRow(node: RunNode): string | Run {
    return node.kind === "run" ? node.run : runViewRow(node, seen).id;
  }

  function rowsOf(tree: RunTree): RunRowNode[] {
    return tree.roots.flatMap(({ children }) => children.filter((child) => child.kind === "run"));
  }

  function names(redraw: Redraw): string[] {
    assert(redraw !== "all");
    return redraw.map((node) =>
      node.kind === "group" ? node.group : node.kind === "run" ? node.runId : node.kind,
    );
  }
});
