import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Run } from "../../../src/contract/run.ts";
import { everyRun, type ViewFilter } from "../../../src/extension/views/filters.ts";
import { RunsView } from "../../../src/extension/views/runsView.ts";
import type { RunNode } from "../../../src/extension/views/runTree.ts";
import { ObservableValue } from "../../../src/extension/window/observable.ts";
import { WindowFiles } from "../../../src/extension/window/windowFiles.ts";
import { LoopbackService, orgOnWire, runOnWire, sendError, sendJson } from "../../client/loopbackService.ts";
import { TemporaryFolder } from "../../temporaryFolder.ts";
import { asRow, FakeView, log, until, viewBench } from "./viewBench.ts";

const running: Run = {
  runId: "run_1",
  pipeline: "nightly",
  project: "lamps",
  status: "running",
  actor: "key_1",
  runner: "local",
  createdAt: "2026-03-03T10:00:00Z",
  timeLimitSeconds: 30,
};

describe("the Runs view", () => {
  let service: LoopbackService;
  let wire: Record<string, unknown>[];
  /** The reply about a run's changes; undefined for a service that has none. */
  let told: unknown;
  let isTrusted: boolean;
  let local: string[];
  let open: {
    bench: ReturnType<typeof viewBench>;
    view: FakeView;
    runsView: RunsView;
    files: WindowFiles;
    changes: unknown[];
    progress: Promise<void>[];
  };

  beforeEach(async () => {
    wire = [];
    told = undefined;
    isTrusted = true;
    local = [];
    service = await LoopbackService.listen(({ path }, response) => {
      if (path.startsWith("/api/org")) sendJson(response, 200, orgOnWire);
      else if (path.startsWith("/api/runs/")) {
        const run = wire.find((one) => path === `/api/runs/${String(one["run-id"])}`);
        if (path.endsWith("/changes") && told !== undefined) sendJson(response, 200, told);
        else if (run?.["steps"] === undefined) sendError(response, 500, "internal");
        else sendJson(response, 200, run);
      } else sendJson(response, 200, { runs: wire.map(({ steps: _, ...run }) => run) });
    });
    const bench = viewBench(service);
    const view = new FakeView();
    const files = new WindowFiles({
      folders: () => ({ count: local.length, local }),
      isTrusted: () => isTrusted,
      watch: () => ({ dispose: () => {} }),
      watchRoot: () => ({ dispose: () => {} }),
    });
    const progress: Promise<void>[] = [];
    const runsView = new RunsView({
      view,
      runs: bench.runs,
      runFilter: new ObservableValue<ViewFilter>(everyRun),
      session: bench.session,
      mayFollow: () => isTrusted,
      files,
      contexts: bench.contexts.keys,
      items: bench.items,
      showProgress: (shown) => progress.push(shown),
      clock: bench.clock,
      log,
      signal: bench.ended.signal,
    });
    const changes: unknown[] = [];
    runsView.onDidChangeTreeData((changed) => changes.push(changed));
    open = { bench, view, runsView, files, changes, progress };
  });
  afterEach(async () => {
    open.runsView.dispose();
    open.bench.runs.dispose();
    assert.equal(open.bench.clock.alarms, 0);
    await service[Symbol.asyncDispose]();
  });

  const children = (node?: RunNode) => open.runsView.getChildren(node);
  const rowOf = (node: RunNode) => asRow(open.runsView.getTreeItem(node));
  const listed = () => until(() => open.bench.runs.state.value.kind === "listed");
  const onlyRun = async () => {
    const [group] = await children();
    const [run] = group === undefined ? [] : await children(group);
    assert(run?.kind === "run");
    return run;
  };

  it("asks for nothing before it is opened; then an idle window follows its service", async () => {
    assert.equal(open.bench.watched, 0);
    assert.deepEqual(await children(), []);
    open.view.show();
    assert.equal(open.bench.watched, 1);
    await listed();
    await open.progress[0];
    assert.equal(open.progress.length, 1);
    await until(() => open.bench.contexts.shown.get("pipelineRuns.runsWelcome") === "no-folder");
  });

  it("starts nothing by itself in a window that isn't trusted, and follows the service once it is", async () => {
    isTrusted = false;
    open.view.show();
    open.bench.session.state.set({ kind: "idle" });
    await new Promise(setImmediate);
    assert.equal(open.bench.watched, 0);
    assert.deepEqual(service.asked, []);
    isTrusted = true;
    open.bench.session.state.set({ kind: "idle" });
    await until(() => open.bench.watched === 1);
    await listed();
  });

  it("moves the time of what is active once a second, only while it is visible, and without a request", async () => {
    const step = { name: "one", type: "cli", status: "running", "started-at": "2026-03-03T10:00:00Z" };
    wire = [runOnWire({ steps: [step] })];
    open.view.show();
    await listed();
    const run = await onlyRun();
    const [only] = await children(run);
    assert(only?.kind === "step");
    assert.equal(open.view.description, "nightly: 0 s");
    const asked = service.asked.length;
    for (let second = 1; second <= 3; second++) {
      open.changes.length = 0;
      open.bench.clock.advance(1000);
      await until(() => open.view.description === `nightly: ${second} s`);
      // Not the run's own row: its buttons would be made anew under the mouse.
      assert.deepEqual(open.changes, [[only]]);
      assert.equal(rowOf(only).description, `${second} s · running`);
      await until(() => open.bench.clock.alarms === 1);
    }
    open.view.show(false);
    assert.equal(open.bench.clock.alarms, 0);
    assert.equal(service.asked.length, asked);
  });

  it("is live: a run that ends goes to Today at once, and nothing is asked for that", async () => {
    wire = [runOnWire()];
    open.view.show();
    await listed();
    const asked = service.asked.length;
    open.changes.length = 0;
    const run = await onlyRun();
    open.view.unfolded.emit({ element: run as never });
    open.bench.tell({ ...running, status: "failed", stoppedAt: "2026-03-03T10:00:05Z" });
    assert.deepEqual(open.changes, [undefined]);
    const [group] = await children();
    assert(group?.kind === "group");
    assert.equal(group.group, "today");
    // The same object, and as unfolded as it was.
    assert.equal(await onlyRun(), run);
    assert.equal(rowOf(run).folding, "expanded");
    open.view.folded.emit({ element: run as never });
    assert.equal(rowOf(run).folding, "collapsed");
    assert.equal(service.asked.length, asked);
  });

  it("reads the steps of a run when it is unfolded, once, and takes those that events tell", async () => {
    const step = { name: "one", type: "cli", status: "running", "started-at": "2026-03-03T10:00:00Z" };
    wire = [runOnWire({ steps: [step] })];
    open.view.show();
    await listed();
    const run = await onlyRun();
    const before = service.asked.length;
    open.changes.length = 0;
    const [[first], again] = await Promise.all([children(run), children(run)]);
    assert(first?.kind === "step");
    assert.equal(again[0], first);
    assert.equal(rowOf(first).id, "runs/run_1/steps/0");
    assert.equal(service.asked.length, before + 1);
    assert.deepEqual(open.changes, []);
    const told = { name: "one", type: "cli", status: "succeeded", startedAt: "2026-03-03T10:00:00Z" };
    open.bench.tell({ ...running, steps: [told, { ...told, name: "two", status: "running" }] });
    const steps = await children(run);
    assert.deepEqual(
      steps.map((node) => rowOf(node).label),
      ["one", "two"],
    );
    assert.equal(steps[0], first);
    assert.equal(service.asked.length, before + 1);
  });

  it("offers no step behind one whose program in the background ended with its run", async () => {
    await using folder = await TemporaryFolder.make();
    const root = join(folder.path, "lamps");
    await mkdir(join(root, "pipelines"), { recursive: true });
    await writeFile(join(root, "pipelines", "nightly.yaml"), "");
    const steps = ["succeeded", "failed"].map((status) => ({ name: status, type: "cli", status }));
    local = [root];
    open.view.show();
    wire = [runOnWire({})];
    await listed();
    await until(() => open.files.state.value.kind === "pipelines");
    for (const [run, isOffered] of [
      ["node server.mjs", true],
      ["node server.mjs &", false],
    ] as const) {
      await writeFile(
        join(root, "pipelines", "nightly.yaml"),
        `resources: { sh: { type: cli } }\nsteps: [{ use: sh, run: "${run}" }, { use: sh, run: "false" }]\n`,
      );
      open.bench.tell({ ...running, status: "failed", stoppedAt: "2026-03-03T10:00:05Z", steps });
      const [, failed] = await children(await onlyRun());
      assert.equal(failed !== undefined && rowOf(failed).tokens.includes("failedStep"), isOffered);
    }
  });

  it("offers to begin at the step that a run failed at, unless the run was cancelled, it is the first, or nothing identifies it", async () => {
    open.view.show();
    const offersOf = async (status: string, ...steps: string[]) => {
      const named = steps.map((step) => {
        const [own = "", name = "one"] = step.split(" ");
        return { name, type: "cli", status: own };
      });
      open.bench.tell({ ...running, status, stoppedAt: "2026-03-03T10:00:05Z", steps: named });
      const nodes = await children(await onlyRun());
      return nodes.map((node) => rowOf(node).tokens.includes("failedStep"));
    };
    wire = [runOnWire({})];
    await listed();
    assert.deepEqual(await offersOf("cancelled", "succeeded", "stopped"), [false, false]);
    assert.deepEqual(await offersOf("timed-out", "succeeded", "stopped"), [false, true]);
    assert.deepEqual(await offersOf("failed", "failed", "waiting"), [false, false]);
    assert.deepEqual(await offersOf("failed", "succeeded 3", "succeeded two", "failed two"), [
      false,
      false,
      false,
    ]);
  });

  it("reads the steps of a run that is pointed at, once, and has a tooltip also where they can't be read", async () => {
    const times = { "started-at": "2026-03-03T10:00:00Z", "stopped-at": "2026-03-03T10:00:03Z" };
    wire = [runOnWire({ status: "succeeded", "stopped-at": "2026-03-03T10:00:03Z" })];
    open.view.show();
    await listed();
    const run = await onlyRun();
    const tooltip = async () => {
      const item: { tooltip?: unknown } = await open.runsView.resolveTreeItem({}, run);
      return JSON.stringify(item.tooltip);
    };
    assert.match(await tooltip(), /Time limit/);
    wire = [{ ...wire[0], steps: [{ name: "one", type: "cli", status: "succeeded", ...times }] }];
    assert.match(await tooltip(), /one {2}█{20} {2}3 s/);
    const asked = service.asked.length;
    assert.match(await tooltip(), /one {2}█{20} {2}3 s/);
    assert.equal(service.asked.length, asked);
  });

  it("says what changed since a failed run's pipeline last succeeded, where the service tells it", async () => {
    wire = [runOnWire({ status: "failed", "stopped-at": "2026-03-03T10:00:03Z", steps: [] })];
    open.view.show();
    await listed();
    const run = await onlyRun();
    const tooltip = async () => {
      const item: { tooltip?: unknown } = await open.runsView.resolveTreeItem({}, run);
      return JSON.stringify(item.tooltip);
    };
    assert.doesNotMatch(await tooltip(), /Since it last succeeded/);
    const lastPassed = { "run-id": "run_0", "created-at": "2026-03-03T09:00:00Z" };
    told = { "last-passed": lastPassed, diffs: { "pipelines/a.yaml": "@@ -1,1 +1,1 @@\n-old\n+new" } };
    assert.match(await tooltip(), /-old/);
    told = { "last-passed": lastPassed, diffs: {} };
    assert.match(await tooltip(), /Since it last succeeded.*The pipeline file is the same/);
  });

  it("says why the steps can't be read, and tries again when the run is unfolded once more", async () => {
    wire = [runOnWire({ status: "failed", "stopped-at": "2026-03-03T10:00:05Z" })];
    open.view.show();
    await listed();
    const run = await onlyRun();
    const [note] = await children(run);
    assert(note?.kind === "note");
    assert.match(rowOf(note).label, /^The steps can't be read: /);
    wire = [runOnWire({ status: "failed", "stopped-at": "2026-03-03T10:00:05Z", steps: [] })];
    const [other] = await children(run);
    assert(other?.kind === "note");
    assert.equal(rowOf(other).label, "No step ran");
  });

  it("shows no row of a service that is not within reach", async () => {
    wire = [runOnWire()];
    open.view.show();
    await listed();
    open.bench.session.state.set({ kind: "out-of-reach", problem: "away", retried: true });
    assert.deepEqual(await children(), []);
    assert.equal(open.bench.contexts.shown.get("pipelineRuns.runsWelcome"), "out-of-reach");
    assert.equal(open.bench.clock.alarms, 0);
  });

  it("says above its rows that the day is used up, and when it starts again", async () => {
    wire = [runOnWire()];
    open.view.show();
    await listed();
    assert.equal(open.view.message, "");
    const { org, session } = open.bench;
    session.state.set({ kind: "live", org: { ...org, usage: { runsToday: 50 } }, activeRuns: [] });
    assert.match(
      open.view.message,
      /^50 of 50 runs used today\. The count starts again at 00:00 UTC( \(.* your time\))?\.$/,
    );
    session.state.set({ kind: "live", org, activeRuns: [] });
    assert.equal(open.view.message, "");
  });

  it("sorts its rows anew when the service's day ends", async () => {
    wire = [runOnWire({ status: "failed", "stopped-at": "2026-03-03T10:00:05Z" })];
    open.view.show();
    await listed();
    // One's own midnight may come first.
    for (let days = 0; days < 2; days++) {
      open.bench.clock.advanceToNext();
      await until(() => open.bench.clock.alarms === 1);
    }
    const [group] = await children();
    assert(group?.kind === "group");
    assert.equal(group.group, "earlier");
  });

  it("follows its service again after the settings changed, as long as somebody looks", async () => {
    open.view.show();
    await listed();
    open.bench.session.state.set({ kind: "idle" });
    await until(() => open.bench.watched === 2);
    open.view.show(false);
    open.bench.session.state.set({ kind: "idle" });
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(open.bench.watched, 2);
  });
});
