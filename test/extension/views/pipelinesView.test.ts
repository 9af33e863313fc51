import assert from "node:assert/strict";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { ProjectNames } from "../../../src/extension/session/projectNames.ts";
import { readRunArgument } from "../../../src/extension/start/runArgument.ts";
import { filterPipelines, type TagFilter } from "../../../src/extension/views/filters.ts";
import { PipelinesView } from "../../../src/extension/views/pipelinesView.ts";
import type { PipelineNode } from "../../../src/extension/views/pipelineTree.ts";
import { ObservableValue } from "../../../src/extension/window/observable.ts";
import { WindowFiles } from "../../../src/extension/window/windowFiles.ts";
import { LoopbackService, orgOnWire, runOnWire, sendJson } from "../../client/loopbackService.ts";
import { programPipeline } from "../../service/startedService.ts";
import { TemporaryFolder } from "../../temporaryFolder.ts";
import { asRow, FakeView, until, viewBench } from "./viewBench.ts";

const broken = "resources:\n  shell: { type: clii }\nsteps:\n  - use: shel\n    run: true\n";

describe("the Pipelines view", () => {
  let folders: TemporaryFolder[];
  let isTrusted: boolean;
  let changed: () => void;
  let service: LoopbackService;
  let bench: ReturnType<typeof viewBench>;
  let files: WindowFiles;
  let view: FakeView;
  let pipelines: PipelinesView;
  let tagFilter: ObservableValue<TagFilter>;
  let names: ProjectNames;
  /** Projects as the service names them, by folder. */
  const named = new Map<string, string>();

  beforeEach(async () => {
    named.clear();
    isTrusted = true;
    folders = [await TemporaryFolder.make()];
    service = await LoopbackService.listen(({ method, path, body }, response) => {
      if (path.startsWith("/api/org")) return sendJson(response, 200, orgOnWire);
      if (method !== "PUT") {
        const project = named.get(root()) ?? "";
        return sendJson(response, 200, { runs: [runOnWire({ pipeline: "good", project })] });
      }
      const { root: folder } = JSON.parse(body);
      return sendJson(response, 200, { name: named.get(folder) ?? basename(folder), root: folder });
    });
    bench = viewBench(service);
    view = new FakeView();
    files = new WindowFiles({
      folders: () => ({ count: folders.length, local: folders.map(({ path }) => path) }),
      isTrusted: () => isTrusted,
      watch: (onChange) => {
        changed = onChange;
        return { dispose: () => {} };
      },
      watchRoot: () => ({ dispose: () => {} }),
    });
    const { session } = bench;
    names = new ProjectNames({ session, log: { warn: () => {} }, isTrusted: () => isTrusted });
    tagFilter = new ObservableValue<TagFilter>({ known: [], chosen: [] });
    pipelines = new PipelinesView({
      view,
      tagFilter,
      projectNames: names,
      runs: bench.runs,
      session,
      files,
      contexts: bench.contexts.keys,
      items: bench.items,
      clock: bench.clock,
      signal: bench.ended.signal,
    });
  });
  afterEach(async () => {
    pipelines.dispose();
    names.dispose();
    files.dispose();
    bench.runs.dispose();
    await service[Symbol.asyncDispose]();
    for (const folder of folders) await folder[Symbol.asyncDispose]();
  });

  const root = () => folders[0]?.path ?? "";
  const write = async (name: string, text: string, folder = root()) => {
    await mkdir(join(folder, "pipelines"), { recursive: true });
    await writeFile(join(folder, "pipelines", `${name}.yaml`), text);
  };
  const rowOf = (node: PipelineNode | undefined) => {
    assert(node !== undefined);
    return asRow(pipelines.getTreeItem(node));
  };
  const labels = () => pipelines.getChildren().map((node) => rowOf(node).label);
  const welcome = () => bench.contexts.shown.get("pipelineRuns.pipelinesWelcome");

  it("lists the window's files with their problems, which lead to their lines", async () => {
    await write("good", programPipeline("1"));
    await write("bad", broken);
    view.show();
    await until(() => labels().length === 2);
    const [bad, good] = pipelines.getChildren();
    assert.equal(rowOf(good).label, "good");
    assert.deepEqual(rowOf(good).tokens, ["pipeline", "fine"]);
    assert.deepEqual(rowOf(bad).tokens, ["pipeline", "broken"]);
    assert.match(rowOf(bad).description ?? "", /no resource type `clii`.* \(and 1 more\)$/);
    const problems = pipelines.getChildren(bad);
    assert.equal(problems.length, 2);
    const { action } = rowOf(problems[1]);
    assert.deepEqual(action, { kind: "open", file: join(root(), "pipelines/bad.yaml"), line: 4, column: 10 });
  });

  it("shows the files with a chosen tag, and broken ones, whose tags aren't known", async () => {
    await write("fast", `tags: [smoke, quick]\n${programPipeline("1")}`);
    await write("slow", `tags: [nightly]\n${programPipeline("1")}`);
    await write("bad", broken);
    const choose = (wanted: readonly string[] | undefined) =>
      filterPipelines({
        tagFilter,
        window: {
          showQuickPick: (async (items: readonly { label: string }[]) =>
            wanted && items.filter(({ label }) => wanted.includes(label))) as never,
        },
      });
    view.show();
    await until(() => labels().length === 3);
    assert.equal(bench.contexts.shown.get("pipelineRuns.hasTags"), true);
    assert.deepEqual(tagFilter.value.known, ["nightly", "quick", "smoke"]);
    await choose(["smoke"]);
    assert.deepEqual([labels(), view.description], [["bad", "fast"], "smoke"]);
    await choose(undefined);
    assert.deepEqual(labels(), ["bad", "fast"], "dismissed");
    await write("fast", programPipeline("1"));
    changed();
    await until(() => labels().length === 3);
    assert.equal(view.description, "", "a tag that is gone hides nothing");
  });

  it("tells which files declare inputs, for the menu", async () => {
    await write("good", `inputs: { lamps: 2 }\n${programPipeline("1")}`);
    view.show();
    await until(() => labels().length === 1);
    const [good] = pipelines.getChildren();
    assert.deepEqual(rowOf(good).tokens, ["pipeline", "fine", "inputs"]);
    assert.equal(readRunArgument(good).kind, "file");
  });

  it("reads again what has changed, and keeps the rows of what hasn't", async () => {
    await write("good", programPipeline("1"));
    view.show();
    await until(() => labels().length === 1);
    const [before] = pipelines.getChildren();
    await write("new", programPipeline("1"));
    changed();
    await until(() => labels().length === 2);
    assert.equal(pipelines.getChildren()[0], before);
    await rm(join(root(), "pipelines"), { recursive: true });
    changed();
    await until(() => labels().length === 0);
    await until(() => welcome() === "no-pipelines");
  });

  it("reads no file of a folder that isn't trusted, until it is", async () => {
    await write("good", programPipeline("1"));
    isTrusted = false;
    view.show();
    await until(() => welcome() === "untrusted");
    assert.deepEqual(labels(), []);
    isTrusted = true;
    changed();
    await until(() => labels().length === 1);
    assert.equal(welcome(), "");
  });

  it("shows the projects as soon as there are two", async () => {
    await write("good", programPipeline("1"));
    const second = await TemporaryFolder.make();
    folders.push(second);
    await write("other", programPipeline("1"), second.path);
    view.show();
    await until(() => labels().length === 2);
    assert.deepEqual(
      labels(),
      folders.map(({ path }) => basename(path)),
    );
    assert.deepEqual(
      pipelines.getChildren().map((project) => rowOf(pipelines.getChildren(project)[0]).label),
      ["good", "other"],
    );
  });

  it("shows the last run of each by the name that the service knows the project by", async () => {
    await write("good", programPipeline("1"));
    await write("other", programPipeline("1"));
    named.set(root(), "lamps-2");
    view.show();
    bench.session.watch();
    await until(() => labels().length === 2 && rowOf(pipelines.getChildren()[0]).description === "running");
    const [good, other] = pipelines.getChildren();
    assert(good?.kind === "file");
    assert.equal(good.project, "lamps-2");
    assert.deepEqual(rowOf(good).icon, { id: "loading~spin" });
    assert.equal(rowOf(other).description, undefined);
    bench.tell({
      runId: "run_1",
      pipeline: "good",
      project: "lamps-2",
      status: "failed",
      actor: "key_1",
      runner: "local",
      createdAt: "2026-03-03T10:00:00Z",
      stoppedAt: "2026-03-03T10:00:02Z",
      timeLimitSeconds: 30,
    });
    assert.match(rowOf(good).description ?? "", /^failed, /);
  });

  it("asks for nothing, and reads no file, while it isn't visible", async () => {
    await write("good", programPipeline("1"));
    bench.session.watch();
    await files.refresh();
    assert.deepEqual(labels(), []);
    assert.deepEqual(service.asked, []);
  });
});
