// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the references that pipeline files are written with.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { cp, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { unzipSync } from "fflate";
import { ensureChromium } from "../../../../scripts/chromium.ts";
import { projectRoot } from "../../../../scripts/projectRoot.ts";
import { sayToStandardError } from "../../../../scripts/say.ts";
import { newTraces } from "../../../../src/runner/processes/processTable.ts";
import { processTable } from "../../../../src/runner/processes/systemProcesses.ts";
import { LoopbackService } from "../../../client/loopbackService.ts";
import { itOn } from "../../../itOn.ts";
import { html, pages, type StepFile } from "../../../runner/browser/browserSteps.ts";
import { readPng } from "../../../runner/browser/png.ts";
import { launchTestRun, pipelineOf } from "../../../runner/launch/launchTestRun.ts";
import { temporaryFolder } from "../../../temporaryFolder.ts";

describe("a run with browser steps", () => {
  const folder = temporaryFolder();
  let server: LoopbackService;
  let executable: string;

  before(async function () {
    this.timeout(240_000);
    executable = await ensureChromium(sayToStandardError, new AbortController().signal);
    server = await LoopbackService.listen(
      pages({
        "/private": "<a href=/key.txt>Key</a><p data-testid=key>key-of-the-page</p>",
        "/key.txt": (_request, response) =>
          response.setHeader("content-disposition", "attachment").end("key-of-the-page"),
        "/": (request, response) => {
          response.setHeader("set-cookie", "seen=1").setHeader("content-type", html);
          response.end(`<title>Home</title><p>cookie: ${request.headers.cookie ?? "none"}</p>
          <label>Password <input></label>
          <button onclick="said.textContent = document.querySelector('input').value">Say</button><p id=said></p>`);
        },
      }),
    );
  });
  after(() => server[Symbol.asyncDispose]());

  const pipeline = (steps: readonly StepFile[], resource: StepFile = {}) => {
    const web = { type: "browser", "base-url": server.origin, executable, timeout: "30s", ...resource };
    return pipelineOf({ resources: { web, other: web }, steps });
  };

  it("hands what it reads to later steps, and masks in its files what `mask` names", async () => {
    const artifacts = join(folder.path, "masked");
    const steps = [
      {
        id: "page",
        use: "web",
        goto: "/private",
        actions: [{ download: { role: "link", as: "key.txt" } }],
        read: {
          key: { "test-id": "key" },
          count: { evaluate: { script: "n + 1", with: { n: "${{ inputs.n }}" } } },
        },
        mask: ["key"],
        expect: { that: "this.count == 3" },
      },
      {
        use: "web",
        goto: "/?${{ steps.page.key }}",
        timeout: "2s",
        expect: { title: "${{ steps.page.count }}" },
      },
    ];
    const web = { type: "browser", "base-url": server.origin, executable, trace: "on-failure" };
    const run = launchTestRun(
      folder.path,
      pipelineOf({ inputs: { n: 2 }, resources: { web }, steps }),
      { runnerPath: join(projectRoot, "dist/runner.js") },
      artifacts,
    );
    const end = await run.job.ended;
    assert.ok(end.kind === "failed");
    assert.match(end.message, /title: expected `3`, got "Home"/);
    assert.deepEqual(
      run.artifacts.map(({ name }) => name),
      ["key.txt", "failure.png", "trace.zip"],
    );
    const [download = "", , trace = ""] = readdirSync(artifacts).sort();
    assert.equal(readFileSync(join(artifacts, download), "utf8"), "***");
    const entries = Object.values(unzipSync(readFileSync(join(artifacts, trace))));
    assert.ok(entries.length > 3);
    for (const entry of entries) assert.ok(!Buffer.from(entry).includes("key-of-the-page"));
    assert.ok(!JSON.stringify([run.told, run.outputs]).includes("key-of-the-page"));
  });

  it("shares one browser between the steps of one resource and none between two, by the built programs alone", async () => {
    const steps = [
      { use: "web", goto: "/", expect: { text: "cookie: none" }, screenshot: "home.png" },
      { use: "web", goto: "/", expect: { text: "cookie: seen=1" } },
      { use: "web", actions: [{ fill: { label: "Password", with: "kept" } }] },
      { use: "other", goto: "/", expect: { text: "cookie: none" } },
      { use: "web", actions: [{ click: { role: "button", name: "Say" } }], expect: { text: "kept" } },
      { use: "web", actions: [{ click: { role: "button", name: "None" } }], timeout: "300ms" },
      { use: "other", goto: "/" },
    ];
    // Wherever the built programs lie, they need nothing else.
    const elsewhere = join(folder.path, "elsewhere");
    await cp(join(projectRoot, "dist"), elsewhere, { recursive: true });
    const { job, told, artifacts } = launchTestRun(folder.path, pipeline(steps), {
      runnerPath: join(elsewhere, "runner.js"),
    });
    const end = await job.ended;
    assert(end.kind === "failed");
    assert.match(end.message, /there was none within 300 ms, the step's `timeout`; the buttons are: `Say`$/);
    assert.deepEqual(
      told
        .filter(({ step }) => step.status !== "running")
        .map(({ index, step }) => [index, step.type, step.status]),
      [
        [0, "browser", "succeeded"],
        [1, "browser", "succeeded"],
        [2, "browser", "succeeded"],
        [3, "browser", "succeeded"],
        [4, "browser", "succeeded"],
        [5, "browser", "failed"],
        [6, "browser", "not-reached"],
      ],
    );
    assert.deepEqual(
      artifacts.map(({ index, name, mediaType }) => [index, name, mediaType]),
      [
        [0, "home.png", "image/png"],
        [5, "failure.png", "image/png"],
      ],
    );
    const [home] = artifacts;
    assert.ok(home);
    const picture = await readFile(join(folder.path, "artifacts", home.file));
    assert.equal(picture.length, home.bytes);
    const { width, height } = readPng(picture);
    assert.deepEqual({ width, height }, { width: 1280, height: 720 });
  });

  it("shows no secret, neither in its log nor in what it says of a page that shows it", async () => {
    const steps = [
      {
        use: "web",
        goto: "/?token=${{ env.TOKEN }}",
        actions: [
          { fill: { label: "Password", with: "${{ env.TOKEN }}" } },
          { click: { role: "button", name: "Say" } },
          { "wait-for": { text: "${{ env.TOKEN }}" } },
        ],
      },
      { use: "web", expect: { text: "something else", url: "elsewhere" }, timeout: "300ms" },
    ];
    const { job, runId, outputs } = launchTestRun(folder.path, pipeline(steps), {
      env: { ...process.env, TOKEN: "quite-secret" },
    });
    const end = await job.ended;
    assert.ok(end.kind === "failed");
    assert.match(end.message, /which says: .*Say \*\*\*/);
    assert.match(end.message, /\?token=\*\*\*/);
    assert.doesNotMatch(JSON.stringify([end, outputs]), /quite-secret/);
    assert.ok(JSON.stringify(outputs).includes(`started ${executable}`));
    assert.match(JSON.stringify(outputs), /fill the field labelled `Password` → done/);
    assert.deepEqual(await leftOf(runId), [], "no browser and no profile");
  });

  it("leaves no browser and no profile behind when it is cancelled in the middle of a wait", async () => {
    const { run, opened } = launchWaiting();
    await opened;
    run.job.stop();
    assert.deepEqual(await run.job.ended, { kind: "stopped" });
    assert.deepEqual(await leftOf(run.runId), []);
  });

  it("leaves no browser and no profile behind when its runner is killed", async () => {
    const { run, opened } = launchWaiting();
    await opened;
    assert.ok(run.job.pid);
    process.kill(run.job.pid, "SIGKILL");
    assert.equal((await run.job.ended).kind, "died");
    assert.deepEqual(await leftOf(run.runId), []);
  });

  itOn("linux", "says that the page crashed", async () => {
    const { run, opened } = launchWaiting();
    await opened;
    const renderers = (await processes(run.runId)).filter((pid) =>
      commandOf(pid).includes("--type=renderer"),
    );
    assert.ok(renderers.length > 0);
    for (const pid of renderers) process.kill(pid, "SIGKILL");
    assert.deepEqual(await run.job.ended, { kind: "failed", message: "open /: the page crashed" });
  });

  itOn("linux", "says that the browser ended", async () => {
    const { run, opened } = launchWaiting();
    await opened;
    const browser = (await processes(run.runId)).find((pid) =>
      /--user-data-dir=(?!.*--type=)/s.test(commandOf(pid)),
    );
    assert.ok(browser);
    process.kill(browser, "SIGKILL");
    assert.deepEqual(await run.job.ended, {
      kind: "failed",
      message: "open /: the browser ended while the step used it",
    });
    assert.deepEqual(await leftOf(run.runId), []);
  });

  it("says what is missing when there is no browser", async () => {
    const steps = [{ use: "web", goto: "/" }];
    const { job } = launchTestRun(folder.path, pipeline(steps, { executable: "./no-browser" }));
    assert.deepEqual(await job.ended, {
      kind: "failed",
      message: "open /: the resource's `executable` is `./no-browser`, but there is no such program",
    });
  });

  itOn("posix", "says what a program said that is no browser", async () => {
    const path = join(folder.path, "not-a-browser");
    await writeFile(path, "#!/bin/sh\necho 'I am something else' >&2\nexit 3\n", { mode: 0o755 });
    const { job, runId } = launchTestRun(
      folder.path,
      pipeline([{ use: "web", goto: "/" }], { executable: path }),
    );
    assert.deepEqual(await job.ended, {
      kind: "failed",
      message: `open /: ${path} ended as soon as it was started: I am something else`,
    });
    assert.deepEqual(await leftOf(runId), []);
  });

  /** A run whose step waits for what never comes; `opened` when its page is there. */
  function launchWaiting() {
    const opened = Promise.withResolvers<void>();
    const steps = [{ use: "web", goto: "/", actions: [{ "wait-for": { text: "what never comes" } }] }];
    const run = launchTestRun(folder.path, pipeline(steps), {
      onOutput: ({ text }) => text.startsWith("open ") && opened.resolve(),
    });
    return { run, opened: Promise.race([opened.promise, run.job.ended]) };
  }
});

/** The run's processes that still live, and its folders among the temporary ones. */
async function leftOf(runId: string): Promise<readonly (string | number)[]> {
  const folders = readdirSync(tmpdir()).filter((name) => name.includes(runId));
  return [...(await processes(runId)), ...folders];
}

function processes(runId: string): Promise<readonly number[]> {
  return processTable(process.platform).processesOf(newTraces(runId, undefined));
}

function commandOf(pid: number): string {
  return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
}
