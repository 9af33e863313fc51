import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Agent } from "../../cli/mcp/agent.ts";
import { written } from "../../cli/toolbox.ts";
import { ownService } from "../../editor/screen/ownService.ts";
import { shownText } from "../../editor/screen/shownText.ts";
import { TextEditor } from "../../editor/screen/textEditor.ts";
import { pointAt, pointElsewhere } from "../../editor/screen/tooltip.ts";
import { TreeView } from "../../editor/screen/treeView.ts";
import { fillDay } from "../../service/fillDay.ts";

const day = 86_400_000;

describe("the views, with this machine's own service", () => {
  const at = ownService();
  let runs: TreeView;
  let pipelines: TreeView;
  before(() => {
    runs = new TreeView(at.window.page, "Runs");
    pipelines = new TreeView(at.window.page, "Pipelines");
  });

  const icon = () => at.window.page.locator('.activitybar .action-label[aria-label^="Pipelines"]');

  it("open behind an icon of our own, and say what to do where there is no run yet", async () => {
    await icon().click();
    await runs.waitForWelcome("No runs yet.");
    assert.deepEqual(await runs.welcomeButtons(), ["Run Pipeline…"]);
    const drawn = `getComputedStyle(document.querySelector('.activitybar .checked .action-label')).maskImage`;
    assert.match(await at.window.page.evaluate<string>(drawn), /activity\.svg/);
  });

  it("list the pipelines with their problems, which lead to their lines", async () => {
    await pipelines.waitForRow(/^hello/);
    await pipelines.waitForRow(/^broken.*there is no resource type `clii`/);
    await pipelines.fold(/^broken/);
    await (await pipelines.waitForRow(/^there is no resource type/)).click();
    await at.window.page.locator('.tab[aria-label*="broken.yaml"]').waitFor();
    await at.window.statusBar.waitForText("status.editor.selection", /Ln 2, Col 18/);
  });

  it("take up a pipeline file as soon as it is saved", async () => {
    // The problem has led to where it is: `clii`.
    for (const key of ["Control+1", "ArrowRight", "ArrowRight", "Delete", "Control+S"]) {
      await at.window.page.keyboard.press(key);
    }
    await pipelines.waitForRow(/^brokenexpected a line for the shell/);
  });

  it("run a pipeline with one click, and show it running with its steps, counting the seconds", async () => {
    await pipelines.press(/^long/, "Run Pipeline…");
    await runs.waitForRow(/^longrunning · since /);
    await pipelines.waitForRow(/^longrunning$/);
    await runs.waitForFirst("Running");
    await runs.waitForSpoken(/^long, running since .*, started by you$/);
    await runs.fold(/^longrunning/);
    const counting = await shownText(await runs.waitForRow(/^onlyrunning · \d+ s$/));
    const seconds = /\d+(?= s$)/.exec(counting)?.[0];
    await runs.waitForRow(new RegExp(`^onlyrunning · (?!${seconds} s$)\\d+ s$`));
    await runs.pane
      .locator(".pane-header .description")
      .filter({ hasText: /^long: \d+ s$/ })
      .waitFor();
    await at.window.page.locator(".activitybar .badge-content").getByText("1", { exact: true }).waitFor();
  });

  it("cancel a run with one click, move it to Today once its slot is released, and stay unfolded", async () => {
    await runs.press(/^longrunning/, "Cancel Run…");
    await runs.waitForRow(/^longcancelled · /);
    await runs.waitForRow(/^onlystopped · /);
    await runs.waitForFirst("Today");
    assert.deepEqual(await at.window.notifications.toasts(), []);
    await runs.waitForSpoken(/^long, cancelled after .*, started by you$/);
    await at.window.page.locator(".activitybar .checked .badge").waitFor({ state: "hidden" });
    await runs.fold(/^longcancelled/);
  });

  it("run again what has ended, and are live when the terminal starts a run", async () => {
    await runs.press(/^longcancelled/, "Run Again");
    await runs.waitForRow(/^longrunning/);
    const waiting = at.tool.spawn(["run", "hello"], {}, at.workspace);
    await written(waiting.stderr, /waiting for long/);
    // The keyboard's way: with nothing selected, Delete cancels the only active run, which is one's own.
    await at.window.quickInput.runCommand("Pipelines: Focus on Runs View");
    await at.window.page.keyboard.press("Delete");
    await runs.waitUntilGone(/^longrunning/);
    await waiting;
    const { exitCode } = await at.tool.spawn(["run", "fails"], {}, at.workspace);
    assert.equal(exitCode, 1);
    await runs.waitForRow(/^failsfailed · /);
    await pipelines.waitForRow(/^failsfailed, /);
  });

  it("say everything about a run as the mouse rests on it, and copy its id", async () => {
    const said = await shownText(await pointAt(runs.row(/^failsfailed/), "Time limit"));
    assert.match(said, /fails\s*failed\s*only: exited with 3, expected 0.*run_\w+/);
    assert.match(said, /only\s+█+\s+\d+/);
    await at.window.page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await runs.choose(/^failsfailed/, "Copy Run ID");
    await at.window.page
      .locator(".statusbar")
      .getByText(/Copied run_/)
      .waitFor();
    const copied = await at.window.page.evaluate<string>("navigator.clipboard.readText()");
    assert.equal(JSON.parse((await at.tool.run(["runs", "show", copied, "--json"])).stdout).ok, true);
  });

  it("show a run's wait for the slot in its times", async () => {
    const said = await shownText(await pointAt(await runs.waitForRow(/^hellosucceeded/), "Wait for a slot"));
    assert.match(said, /Wait for a slot █+ [\d.]+ m?s.*only █+ [\d.]+ m?s/);
    await pointElsewhere(at.window.page);
  });

  it("name the agent that has started a run", async () => {
    const box = { ...at.tool, project: at.workspace };
    await using agent = await Agent.of(box, "2026-07-28", [], { name: "lamp-agent" });
    await agent.call("start_run", { pipeline: "hello" });
    const row = await runs.waitForRow(/^hellosucceeded · agent lamp-agent · [\d.]+ m?s · /);
    await runs.waitForSpoken(/^hello, succeeded .*, started by you, agent lamp-agent$/);
    await pointAt(row, /Agent\s+lamp-agent/);
    await pointElsewhere(at.window.page);
  });

  it("open the run's page in the browser, signed in by a link that works once", async () => {
    const opening = at.window.page.context().waitForEvent("page");
    await runs.choose(/^failsfailed/, "Open in Browser");
    const page = await opening;
    await page.waitForURL(/\/app\/sign-in\?code=/);
    // This VS Code sends the ports of its machine through a gateway that is not there in a test.
    const [, port, path] = /\/proxy\/(\d+)(\/.*)$/.exec(page.url()) ?? [];
    if (port !== undefined) await page.goto(`http://127.0.0.1:${port}${path}`);
    await page.waitForURL(/\/app\/runs\/run_\w+$/);
    await page.getByText("it is broken").first().waitFor();
    await page.close();
  });

  it("show earlier runs, and load older ones as one scrolls to their end", async () => {
    await fillDay(at.tool.data, 120, Date.now() - day, undefined, "yesterday");
    await at.window.quickInput.runCommand("Pipeline Runs: Refresh Runs");
    await runs.waitForRow(/^Earlier/);
    await runs.waitForRow(/^hellosucceeded · \d+ m?s · \w+ \d+ · shop · by key_filled$/);
    await at.window.quickInput.runCommand("Pipelines: Focus on Runs View");
    // Three pages: each is read when the row behind the one before comes on the screen.
    for (let turns = 0; (await indexOfLast()) < 120 || !(await endsWithARun()); turns++) {
      assert(turns < 100, "the older runs never came");
      await runs.goToEnd();
      await at.window.page.waitForTimeout(100);
    }
  });

  const endsWithARun = async () => (await runs.rows()).at(-1)?.startsWith("hello") ?? false;

  /** The position of the last row that is drawn: groups and runs. */
  async function indexOfLast(): Promise<number> {
    const indexes = await runs.pane
      .locator(".monaco-list-row")
      .evaluateAll((all) => all.map((one) => Number(one.getAttribute("data-index"))));
    return Math.max(...indexes.filter((index) => !Number.isNaN(index)));
  }

  it("show only what a filter passes, and say so", async () => {
    await at.window.quickInput.runCommand("Pipeline Runs: Filter Runs…");
    await at.window.quickInput.waitForTitle("Filter Runs");
    await at.window.quickInput.check("failed");
    await at.window.quickInput.accept();
    await runs.pane
      .locator(".pane-header .description")
      .filter({ hasText: /^failed$/ })
      .waitFor();
    await runs.waitForRow(/^failsfailed/);
    assert.ok((await runs.rows()).every((row) => /^(Today|failsfailed)/.test(row)));
    await at.window.quickInput.runCommand("Pipeline Runs: Filter Runs…");
    await at.window.quickInput.check("failed");
    await at.window.quickInput.accept();
    await runs.waitForRow(/^hellosucceeded/);
  });

  it("begin a new run at the step that failed, from its row, from the log and from the file", async () => {
    const program = (code: string) => JSON.stringify([process.execPath, "-e", code]);
    // Two steps have one name: the second is known by its number.
    await writeFile(
      join(at.workspace, "pipelines", "site.yaml"),
      [
        "resources: { shell: { type: cli } }",
        "steps:",
        `  - { name: check, use: shell, run: ${program("")} }`,
        `  - { name: build, use: shell, run: ${program("")} }`,
        `  - { name: check, use: shell, run: ${program("require('fs').rmSync('ready')")} }`,
        "",
      ].join("\n"),
    );
    const { page, quickInput } = at.window;
    const editor = new TextEditor(page);
    const fail = async () => {
      await at.tool.spawn(["run", "site"], {}, at.workspace);
      await runs.waitForNewest(/^sitefailed/);
      await writeFile(join(at.workspace, "ready"), "");
    };
    const succeeds = async () => {
      await runs.waitForNewest(/^sitesucceeded/);
      const { steps } = JSON.parse((await at.tool.run(["runs", "show", "--json"])).stdout);
      assert.deepEqual(
        steps.map(({ status }: { status: string }) => status),
        ["skipped", "skipped", "succeeded"],
      );
    };

    await fail();
    await runs.fold(/^sitefailed/);
    await runs.press(/^checkfailed/, "Run From Failed Step…");
    await succeeds();

    await fail();
    await (await runs.waitForRow(/^sitefailed/)).click();
    await editor.followLink(editor.line("Run From Failed Step"));
    await succeeds();

    await fail();
    await page.keyboard.press("Control+p");
    await quickInput.type("site.yaml");
    await quickInput.pick("site.yaml");
    await editor.shows("site.yaml");
    // The tooltip of what was pressed before lies over the lens.
    await pointElsewhere(page);
    await (await editor.lens(/Run from check$/)).click();
    await succeeds();
  });

  it("say once, with few of the day's runs left, how many there are", async () => {
    await fillDay(at.tool.data, 34, undefined, undefined, "low");
    await at.window.quickInput.runCommand("Pipeline Runs: Refresh Runs");
    const notice = await at.window.notifications.toast(
      /^\d of today's 50 runs are left\. The count starts again/,
    );
    assert.deepEqual(await notice.buttons(), ["Show Runs", "Don't Show Again"]);
    await notice.press("Show Runs");
    await notice.waitUntilGone();
  });

  it("tell what counts as a run", async () => {
    await at.window.quickInput.runCommand("Pipeline Runs: What Counts as a Run?");
    await at.window.page.locator(".view-lines").getByText("What counts as a run?").waitFor();
  });

  it("say above the rows that the day is used up", async () => {
    await fillDay(at.tool.data, 50);
    await at.window.quickInput.runCommand("Pipeline Runs: Refresh Runs");
    const message = runs.pane.locator(".message").filter({ hasText: /runs used today/ });
    await message.waitFor();
    assert.match(await runs.message(), /The count starts again at 00:00 UTC( \(.* your time\))?\.$/);
  });
});
