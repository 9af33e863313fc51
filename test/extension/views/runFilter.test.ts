import assert from "node:assert/strict";
import type { Run } from "../../../src/contract/run.ts";
import type { RunListState } from "../../../src/extension/session/runList.ts";
import {
  everyRun,
  filterRuns,
  filterText,
  passes,
  type ViewFilter,
} from "../../../src/extension/views/filters.ts";
import { RunTree } from "../../../src/extension/views/runTree.ts";
import { ObservableValue } from "../../../src/extension/window/observable.ts";

const run = (runId: string, others: Partial<Run> = {}): Run => ({
  runId,
  status: "succeeded",
  actor: "key_1",
  pipeline: "hello",
  createdAt: "2026-03-04T11:59:00Z",
  stoppedAt: "2026-03-04T11:59:09Z",
  ...others,
});
const runs = [
  run("run_1", { status: "failed", pipeline: "nightly" }),
  run("run_2", { actor: "key_2" }),
  { ...run("run_3", { status: "cancelling" }), stoppedAt: undefined },
];
const listed: RunListState = { kind: "listed", runs, hasMore: true, me: "key_1", clockAhead: 0 };
const passing = (filter: Partial<ViewFilter>) =>
  runs.filter((one) => passes(one, { ...everyRun, ...filter }, "key_1")).map(({ runId }) => runId);

describe("the filter of the Runs view", () => {
  it("passes runs of any chosen status, of any chosen pipeline, and one's own", () => {
    assert.deepEqual(passing({}), ["run_1", "run_2", "run_3"]);
    assert.deepEqual(passing({ statuses: ["failed", "in-work"] }), ["run_1", "run_3"]);
    assert.deepEqual(passing({ pipelines: ["hello"] }), ["run_2", "run_3"]);
    assert.deepEqual(passing({ pipelines: ["hello"], isMine: true }), ["run_3"]);
  });

  it("leaves older runs to a click: few may pass, so that scrolling would load them all", () => {
    const tree = new RunTree();
    tree.update(listed, Date.parse("2026-03-04T12:00:00Z"), { ...everyRun, statuses: ["failed"] });
    const rows = tree.roots.flatMap(({ children }) => children);
    assert.deepEqual(
      rows.map((row) => (row.kind === "older" ? row.isLoadedWhenDrawn : row.runId)),
      ["run_1", false],
    );
  });

  it("leads to older runs also where no listed run passes, as long as there are more", () => {
    const tree = new RunTree();
    const update = (hasMore: boolean) =>
      tree.update({ ...listed, hasMore }, Date.parse("2026-03-04T12:00:00Z"), {
        ...everyRun,
        statuses: ["lost"],
      });
    update(true);
    const rows = tree.roots.flatMap(({ children }) => children);
    assert.deepEqual(
      rows.map((row) => row.kind === "older" && [row.behind, row.isLoadedWhenDrawn]),
      [["run_3", false]],
    );
    assert.equal(tree.hasRuns, false);
    assert.equal(update(false), "all");
    assert.deepEqual(tree.roots, []);
  });

  it("is chosen from what is listed, and says itself what it shows", async () => {
    const runFilter = new ObservableValue<ViewFilter>({ ...everyRun, pipelines: ["gone"] });
    const labels: string[] = [];
    const choose = (wanted: readonly string[] | undefined) =>
      filterRuns({
        runs: { state: new ObservableValue<RunListState>(listed) },
        runFilter,
        window: {
          showQuickPick: (async (items: readonly { label: string }[]) => {
            labels.push(...items.map(({ label }) => label));
            return wanted && items.filter(({ label }) => wanted.includes(label));
          }) as never,
        },
      });
    await choose(undefined);
    assert.deepEqual(runFilter.value.pipelines, ["gone"], "dismissed");
    assert.ok(
      ["failed", "active", "hello", "nightly", "gone", "Only yours"].every((one) => labels.includes(one)),
    );
    await choose(["failed", "active", "nightly", "Only yours"]);
    assert.equal(filterText(runFilter.value), "active, failed, nightly, yours");
    await choose([]);
    assert.deepEqual(runFilter.value, everyRun);
  });
});
