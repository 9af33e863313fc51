import assert from "node:assert/strict";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { serverEnvironment } from "../../../scripts/editor/serverFolders.ts";
import { Program } from "../../../scripts/process/program.ts";
import { projectRoot } from "../../../scripts/projectRoot.ts";
import { QuickInput } from "../../editor/screen/quickInput.ts";
import { StatusBar } from "../../editor/screen/statusBar.ts";
import { patienceMilliseconds } from "../../editor/screen/waitFor.ts";
import { testWorkspace } from "../../editor/screen/workspace.ts";
import { launchBrowser } from "../../editor/served/launchBrowser.ts";
import { endProcessesOf } from "../../endProcessesOf.ts";
import { TemporaryFolder } from "../../temporaryFolder.ts";

const { signal } = new AbortController();

describe("what npm start serves, on a fresh profile", () => {
  const held = new AsyncDisposableStack();
  let page: Page;
  let quickInput: QuickInput;

  before(async function () {
    this.timeout(300_000);
    const folder = held.use(await testWorkspace());
    const data = held.use(await TemporaryFolder.make());
    held.defer(() => endProcessesOf(data.path));
    const start = held.use(
      new Program(
        process.execPath,
        [
          join(projectRoot, "scripts/start.ts"),
          ...["--served", "--no-build", "--port", "0", "--data-dir", join(data.path, "editor"), folder.path],
        ],
        { env: serverEnvironment({ PIPELINE_DATA_DIR: join(data.path, "service") }) },
      ),
    );
    const [, address = ""] = (await start.outputMatching(/ready: (http:\S+)/, signal)) ?? [];
    assert.notEqual(address, "", start.output);
    const browser = await launchBrowser(signal);
    held.defer(() => browser.close());
    page = await browser.newPage();
    page.setDefaultTimeout(patienceMilliseconds);
    quickInput = new QuickInput(page);
    await page.goto(address, { waitUntil: "domcontentloaded" });
    await new StatusBar(page).waitForText("pipeline-runs.pipeline-runs.quota", /0 of 50 runs used today/);
  });

  after(async function () {
    this.timeout(120_000);
    await held.disposeAsync();
  });

  beforeEach(function () {
    this.currentTest?.timeout(120_000);
  });

  it("offers Run Pipeline first for what npm start says to type, also after other commands were used", async () => {
    const first = async () => (await quickInput.commandsFor("Run Pipeline"))[0];
    assert.equal(await first(), "Pipeline Runs: Run Pipeline…");
    await quickInput.runCommand("Pipelines: Focus on Pipelines View");
    await quickInput.runCommand("Pipelines: Focus on Runs View");
    await quickInput.runCommand("Pipeline Runs: Refresh Runs");
    await quickInput.runCommand("Pipeline Runs: New File…");
    await quickInput.waitForTitle("New Pipeline");
    await quickInput.dismiss();
    await quickInput.runCommand("Pipeline Runs: Run This File");
    await quickInput.waitForRow("hello");
    await quickInput.dismiss();
    assert.equal(await first(), "Pipeline Runs: Run Pipeline…");
  });

  it("opens the page of all runs from the editor, signed in without a further click", async () => {
    const opening = page.context().waitForEvent("page");
    await quickInput.runCommand("Pipeline Runs: Open in Browser");
    const opened = await opening;
    await opened.waitForURL(/^http:\/\/127\.0\.0\.1:\d+\/app\/runs$/);
    await opened.getByText("0 of 50 runs used today").waitFor();
    await opened.close();
  });
});
