import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { written } from "../../../cli/toolbox.ts";
import type { OwnService } from "../../../editor/screen/ownService.ts";
import { TextEditor } from "../../../editor/screen/textEditor.ts";
import { pointAt, pointElsewhere } from "../../../editor/screen/tooltip.ts";
import { TreeView } from "../../../editor/screen/treeView.ts";
import { shownText } from "../../../editor/screen/waitFor.ts";

export function views(at: OwnService): void {
  describe("the views", () => {
    let runs: TreeView;
    let pipelines: TreeView;
    before(async () => {
      runs = new TreeView(at.window.page, "Runs");
      pipelines = new TreeView(at.window.page, "Pipelines");
      await at.window.page.locator('.activitybar .action-label[aria-label^="Pipelines"]').click();
    });

    it("run a pipeline with one click, and show it running with its steps, counting the seconds", async () => {
      await pipelines.press(/^long/, "Run Pipeline…");
      await runs.waitForRow(/^longrunning · since /);
      await pipelines.waitForRow(/^longrunning$/);
      await runs.waitForRowAt(0, /^Running$/);
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
      await runs.waitForRowAt(0, /^Today$/);
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
      // It is said for three seconds only.
      const told = at.window.page.locator(".statusbar").getByText(/Copied run_/);
      await Promise.all([told.waitFor(), runs.choose(/^failsfailed/, "Copy Run ID")]);
      const copied = await at.window.page.evaluate<string>("navigator.clipboard.readText()");
      assert.equal(JSON.parse((await at.tool.run(["runs", "show", copied, "--json"])).stdout).ok, true);
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
        await runs.waitForRowAt(1, /^sitefailed/);
        await writeFile(join(at.workspace, "ready"), "");
      };
      const succeeds = async () => {
        await runs.waitForRowAt(1, /^sitesucceeded/);
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
  });
}
