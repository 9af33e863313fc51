import assert from "node:assert/strict";
import type { QuickPickItem, QuickPickOptions } from "vscode";
import { ServiceClient } from "../../../src/client/service/client.ts";
import { fromFailedStep } from "../../../src/contract/fromStep.ts";
import type { Run } from "../../../src/contract/run.ts";
import { cancelMyRuns, cancelRun } from "../../../src/extension/commands/cancelRun.ts";
import { runIdOf } from "../../../src/extension/commands/pickRun.ts";
import { runAgain, runFromStep } from "../../../src/extension/commands/runPipeline.ts";
import {
  copyRunId,
  openInBrowser,
  openPipeline,
  refreshRuns,
} from "../../../src/extension/commands/viewCommands.ts";
import { LoopbackService, orgOnWire, runOnWire, sendJson } from "../../client/loopbackService.ts";
import { FakeClock } from "../../clock/fakeClock.ts";
import {
  ended,
  programPipeline,
  started,
  startedService,
  untilCancelled,
} from "../../service/startedService.ts";
import { TemporaryFolder } from "../../temporaryFolder.ts";
import { pickingWindow } from "../fakePick.ts";

const never = new AbortController().signal;

describe("the commands of the views", () => {
  const runs = { find: () => undefined };

  /** A window that picks the first row of each quick pick, and notes what it is told. */
  function fakeWindow() {
    const told: string[] = [];
    const { shown: picks, showQuickPick } = pickingWindow(/./);
    return {
      told,
      picks,
      window: {
        showQuickPick,
        showInputBox: async () => undefined,
        showInformationMessage: async (text: string) => void told.push(text),
        showWarningMessage: async (text: string) => void told.push(`warning: ${text}`),
        setStatusBarMessage: (text: string) => {
          told.push(text);
          return { dispose: () => {} };
        },
        withProgress: async (
          { location, title }: { location: unknown; title: string },
          task: () => unknown,
        ) => {
          told.push(`${String(location)}: ${title}`);
          return task();
        },
      } as never,
    };
  }

  it("take a run from a row, a lens or a keybinding, and nothing else", () => {
    assert.equal(runIdOf(undefined), undefined);
    assert.equal(runIdOf("run_1"), "run_1");
    assert.equal(runIdOf({ kind: "run", runId: "run_1", run: {} }), "run_1");
    for (const odd of [{}, 5, "", { runId: 5 }, []]) {
      assert.throws(() => runIdOf(odd), /argument is not a run/);
    }
  });

  it("cancel the run of a row without a question or a notification, until its slot is released", async () => {
    await using service = await startedService();
    const { client } = await service.member();
    await service.write("long", programPipeline(untilCancelled));
    const run = await started(client, "long");
    const { window, told, picks } = fakeWindow();
    const quiet = new Set<string>();
    const announcer = {
      suppress: (runId: string) => {
        quiet.add(runId);
        return () => quiet.delete(runId);
      },
    } as never;
    const deps = {
      session: { connect: async () => client } as never,
      runs,
      announcer,
      window,
      signal: never,
    };
    await cancelRun(deps, { kind: "run", runId: run.runId });
    assert.equal((await client.run(run.runId, never)).status, "cancelled");
    assert.deepEqual(picks, []);
    assert.deepEqual(told, [`10: Cancelling ${run.runId}`]);
    assert.deepEqual([...quiet], [run.runId]);
    await assert.rejects(cancelRun(deps, { runId: "run_none" }), /run_none/);
    assert(!quiet.has("run_none"));
  });

  it("cancel a run, and show what the service warns of", async () => {
    await using service = await LoopbackService.listen(({ path }, response) => {
      const status = { "run-id": "run_1", status: "cancelling", warning: "The disk is full." };
      if (path === "/api/runs/run_1/cancel") sendJson(response, 200, status);
      else sendJson(response, 200, runOnWire({ status: "cancelled", "stopped-at": "2026-03-03T10:00:01Z" }));
    });
    const { window, told } = fakeWindow();
    await cancelRun(
      {
        session: { connect: async () => service.client(new FakeClock()) } as never,
        runs,
        announcer: { suppress: () => () => {} } as never,
        window,
        signal: never,
      },
      { runId: "run_1" },
    );
    assert.deepEqual(told, ["10: Cancelling run_1", "warning: The disk is full."]);
  });

  it("cancel the only active run at once if it is one's own, and ask about somebody else's", async () => {
    await using service = await startedService();
    const { client } = await service.member();
    const { client: other } = await service.member();
    await service.write("long", programPipeline(untilCancelled));
    const { window, told, picks } = fakeWindow();
    const deps = {
      session: { connect: async () => client } as never,
      runs,
      announcer: { suppress: () => () => {} } as never,
      window,
      signal: never,
    };
    const mine = await started(client, "long");
    await cancelRun(deps);
    assert.equal((await client.run(mine.runId, never)).status, "cancelled");
    assert.deepEqual(picks, []);
    assert.deepEqual(told, ["15: Cancelling long", "long: cancelled."]);
    const theirs = await started(other, "long");
    const leave = async ([row]: readonly QuickPickItem[], { placeHolder }: QuickPickOptions) => {
      assert.equal(placeHolder, "You did not start this run. Cancel it?");
      assert.match(row?.detail ?? "", /, started by key_/);
    };
    await cancelRun({ ...deps, window: { showQuickPick: leave } as never });
    assert.equal((await client.run(theirs.runId, never)).status, "running");
    await cancelRun(deps);
    assert.equal((await client.run(theirs.runId, never)).status, "cancelled");
    assert.equal(picks.length, 1);
  });

  it("cancel one's own runs, leave the others alone, and say of which nobody is told to have started them", async () => {
    const cancelled: string[] = [];
    const active = [
      { "run-id": "run_mine", status: "queued", actor: "key_1" },
      { "run-id": "run_theirs", status: "running", actor: "key_2" },
      { "run-id": "run_nobodys", status: "running", actor: undefined },
    ].map((run) => runOnWire({ ...run, pipeline: undefined }));
    await using service = await LoopbackService.listen(({ method, path }, response) => {
      if (path === "/api/org") return sendJson(response, 200, orgOnWire);
      if (path.startsWith("/api/runs?")) return sendJson(response, 200, { runs: active });
      if (method !== "POST") return response.writeHead(404).end();
      cancelled.push(path);
      return sendJson(response, 200, { "run-id": "run_mine", status: "cancelled" });
    });
    const { window, told } = fakeWindow();
    await cancelMyRuns({
      session: { connect: async () => service.client(new FakeClock()) },
      announcer: { suppress: () => () => {} },
      window,
      signal: never,
    } as never);
    assert.deepEqual(cancelled, ["/api/runs/run_mine/cancel"]);
    assert.deepEqual(told, [
      "Not cancelled, because the service doesn't say who started it: run_nobodys",
      "15: Cancelling run_mine",
      "run_mine: cancelled.",
    ]);
  });

  it("say how a run ended that is chosen after its end, while the list was open", async () => {
    await using service = await startedService();
    const { client } = await service.member();
    const { client: other } = await service.member();
    await service.write("long", programPipeline(untilCancelled));
    const theirs = await started(other, "long");
    const { window, told } = fakeWindow();
    const shown = Promise.withResolvers<void>();
    const chosen = Promise.withResolvers<void>();
    const showQuickPick = async ([row]: readonly QuickPickItem[]) => {
      shown.resolve();
      await chosen.promise;
      return row;
    };
    const cancelling = cancelRun({
      session: { connect: async () => client } as never,
      runs,
      announcer: { suppress: () => () => {} } as never,
      window: Object.assign(window, { showQuickPick: showQuickPick as never }),
      signal: never,
    });
    await shown.promise;
    await other.cancel(theirs.runId, never);
    await ended(other, theirs);
    chosen.resolve();
    await cancelling;
    assert.deepEqual(told, ["15: Cancelling long", "long: cancelled."]);
  });

  it("ask which run is meant when they are told none, the newest first", async () => {
    await using service = await startedService();
    const { client } = await service.member();
    await service.write("hello", programPipeline("1"));
    const run = await ended(client, await started(client, "hello"));
    const { window, told, picks } = fakeWindow();
    const copied: string[] = [];
    const clipboard = { writeText: async (text: string) => void copied.push(text) };
    const session = { connect: async () => client };
    await copyRunId({ session, runs, window, clipboard, signal: never });
    assert.deepEqual(copied, [run.runId]);
    assert.deepEqual(told, [`Copied ${run.runId}`]);
    assert.equal(picks[0]?.[0]?.label, "hello");
    assert.match(picks[0]?.[0]?.description ?? "", /^succeeded after /);
    assert.match(picks[0]?.[0]?.detail ?? "", /started by you$/);
    await copyRunId({ session, runs, window, clipboard, signal: never }, { runId: "run_9" });
    assert.equal(copied[1], "run_9");
    const executed: unknown[] = [];
    const executeCommand = async (...call: unknown[]) => void executed.push(call);
    let isBehindServer = false;
    const resumeAt = async (failed: Run) => (isBehindServer ? undefined : fromFailedStep(failed));
    const deps = { session, runs, window, executeCommand, resumeAt, signal: never };
    await runAgain(deps, { runId: run.runId });
    const wish = { pipeline: "hello", project: service.project.name, inputs: {} };
    assert.deepEqual(executed, [["pipelineRuns.run", wish]]);
    await service.write("hello", programPipeline("process.exit(1)"));
    const failed = await ended(client, await started(client, "hello"));
    await runFromStep(deps, { runId: failed.runId });
    assert.deepEqual(executed[1], ["pipelineRuns.run", { ...wish, fromStep: "only" }]);
    isBehindServer = true;
    await runFromStep(deps, { runId: failed.runId });
    assert.equal(told.at(-1), "This run failed at no step that a new one could begin with.");
    assert.equal(executed.length, 2);
  });

  it("say so when there is no run to pick from", async () => {
    await using service = await LoopbackService.listen(({ path }, response) =>
      path === "/api/org" ? sendJson(response, 200, orgOnWire) : response.writeHead(401).end("no"),
    );
    const client = new ServiceClient({ baseUrl: new URL(`${service.origin}/`), apiKey: "plk_key" });
    const { window, told } = fakeWindow();
    const clipboard = { writeText: async () => assert.fail("nothing is to be copied") };
    await copyRunId({ session: { connect: async () => client }, runs, window, clipboard, signal: never });
    assert.deepEqual(told, ["There are no runs."]);
  });

  it("open this machine's page signed in, another service's as it is, and no link that leads elsewhere", async () => {
    let link = "";
    await using service = await LoopbackService.listen(({ path }, response) => {
      assert.equal(path, "/base/api/sign-in-links");
      sendJson(response, 200, { url: link, "expires-at": "2026-03-03T10:01:00Z" });
    });
    const client = new ServiceClient({ baseUrl: new URL(`${service.origin}/base/`), apiKey: "plk_key" });
    const opened: string[] = [];
    const deps = (kind: "embedded" | "remote") => ({
      session: { connect: async () => client },
      target: () => (kind === "embedded" ? { kind } : { kind, baseUrl: client.baseUrl }),
      openExternal: async (url: string) => opened.push(url) > 0,
      signal: never,
    });
    await openInBrowser(deps("remote"));
    assert.deepEqual(opened, [`${service.origin}/base/app/runs`]);
    assert.deepEqual(service.asked, []);
    link = `${service.origin}/sign-in?once=1`;
    await openInBrowser(deps("embedded"));
    assert.equal(opened[1], link);
    await openInBrowser(deps("remote"), { runId: "run_1" });
    await openInBrowser(deps("embedded"), { runId: "run_1" });
    assert.deepEqual(opened.splice(2), [
      `${service.origin}/base/app/runs/run_1`,
      `${link}&next=%2Fbase%2Fapp%2Fruns%2Frun_1`,
    ]);
    link = "https://evil.example/sign-in?once=1";
    await openInBrowser(deps("embedded"));
    assert.equal(opened[2], opened[1]);
  });

  it("refresh what is followed, and try again what is out of reach", async () => {
    const calls: string[] = [];
    const note = (name: string) => async () => void calls.push(name);
    const session = (kind: "live" | "out-of-reach") =>
      ({
        state: { value: { kind } },
        currentClient: kind === "live" ? {} : undefined,
        refresh: note("org"),
        watch: note("watch"),
        restart: note("restart"),
      }) as never;
    await refreshRuns({ session: session("live"), runs: { refresh: note("runs") }, signal: never });
    assert.deepEqual(calls.splice(0), ["org", "runs"]);
    await refreshRuns({ session: session("out-of-reach"), runs: { refresh: note("runs") }, signal: never });
    assert.deepEqual(calls.splice(0), ["watch", "restart"]);
    const failing = { refresh: () => Promise.reject(new Error("it has gone")) };
    await refreshRuns({ session: session("live"), runs: failing, signal: never });
    assert.deepEqual(calls, ["org", "watch", "restart"]);
  });

  it("open a pipeline's file by its row", async () => {
    await using folder = await TemporaryFolder.make();
    const opened: string[][] = [];
    const openFile = async (...file: string[]) => void opened.push(file);
    await openPipeline({ openFile }, { kind: "file", root: folder.path, path: "pipelines/a.yaml", more: 1 });
    assert.deepEqual(opened, [[folder.path, "pipelines/a.yaml"]]);
    await assert.rejects(openPipeline({ openFile }, undefined), /needs a pipeline file/);
  });
});
