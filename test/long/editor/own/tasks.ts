import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { OwnService } from "../../../editor/screen/ownService.ts";
import { quota } from "../../../editor/screen/statusBar.ts";
import { TerminalPanel } from "../../../editor/screen/terminalPanel.ts";
import { isAlive } from "../../../isAlive.ts";
import { writtenPid } from "../../../service/startedService.ts";

/** One depends on a pipeline's, as a launch does whose `preLaunchTask` it is. */
const definitions = {
  version: "2.0.0",
  tasks: [
    { type: "pipeline", pipeline: "hello", label: "greet", timeLimit: "5m" },
    { type: "pipeline", pipeline: "fails", label: "break" },
    {
      type: "shell",
      command: "echo after the greeting",
      label: "after greet",
      dependsOn: "greet",
      problemMatcher: [],
    },
    {
      type: "shell",
      command: "echo never > never",
      label: "after break",
      dependsOn: "break",
      problemMatcher: [],
    },
  ],
};

export async function putTasks(workspace: string): Promise<void> {
  await mkdir(join(workspace, ".vscode"));
  await writeFile(join(workspace, ".vscode/tasks.json"), JSON.stringify(definitions));
}

export function tasks(at: OwnService): void {
  describe("pipelines as tasks", () => {
    let terminal: TerminalPanel;
    let holder: number;
    before(() => {
      terminal = new TerminalPanel(at.window.page);
    });

    /** Runs a task from the palette by the name that the list has for it. */
    const runTask = async (name: string) => {
      await at.window.quickInput.runCommand("Tasks: Run Task");
      await at.window.quickInput.pick(name);
    };

    it("are listed with their files, and show the run and its log in a terminal", async () => {
      await at.window.quickInput.runCommand("Notifications: Clear All Notifications");
      const used = await at.window.statusBar.used();
      await at.window.quickInput.runCommand("Tasks: Run Task");
      await at.window.quickInput.pick("pipeline");
      await at.window.quickInput.waitForRow("pipeline: hello");
      const rows = await at.window.quickInput.rows();
      assert.deepEqual(
        ["broken", "hello", "long"].filter((name) => !rows.includes(`pipeline: ${name}`)),
        [],
      );
      await at.window.quickInput.pick("pipeline: hello");
      await terminal.waitForText(/hello: succeeded in/);
      const lines = await terminal.lines();
      assert(lines.includes("hello"), "the log");
      assert(
        lines.some((line) => /^✓ only \(/.test(line)),
        "the step",
      );
      await at.window.statusBar.waitForUsed(used + 1);
      assert.deepEqual(await at.window.notifications.toasts(), [], "the end stands in the terminal");
    });

    it("fail with the run: its step is a problem of the file, and what depends on the task isn't run", async () => {
      await runTask("after break");
      await terminal.waitForText(/pipelines\/fails\.yaml:5:5: only: exited with 3, expected 0: it is broken/);
      await terminal.waitForText(/terminated with exit code: 1/);
      await at.window.quickInput.runCommand("Problems: Focus on Problems View");
      const problem = at.window.page.locator(".markers-panel .monaco-list-row", {
        hasText: "only: exited with 3",
      });
      await problem.first().waitFor();
      assert(!existsSync(join(at.workspace, "never")));
    });

    it("wait in their terminal for the slot, and Ctrl+C leaves the queue", async () => {
      await rm(join(at.workspace, "pid"), { force: true });
      await at.window.quickInput.runCommand("Tasks: Run Task");
      await at.window.quickInput.pick("pipeline");
      await at.window.quickInput.pick("pipeline: long");
      holder = await writtenPid(join(at.workspace, "pid"));
      await runTask("greet");
      await terminal.waitForText(/hello is waiting for long \(run_/);
      await terminal.waitForText(/gives up in 1\d\d s · Ctrl\+C stops waiting/);
      await at.window.statusBar.waitForText(quota, /runs used today · waiting; gives up in 1\d\d s/);
      await terminal.press("Control+C");
      await terminal.waitForText(/hello stopped waiting, and no run was started\./);
      await at.window.statusBar.used();
      assert(isAlive(holder));
    });

    it("cancel their run when they are terminated", async () => {
      await at.window.quickInput.runCommand("Tasks: Terminate Task");
      const row = at.window.page.locator(".quick-input-list .monaco-list-row", { hasText: "long" });
      // With one task at work the editor may not ask which.
      while (isAlive(holder)) {
        if (await row.isVisible()) await row.click({ timeout: 1000 }).catch(() => {});
        await pause(100);
      }
    });

    it("cancel their run also when the window is reloaded", async () => {
      await rm(join(at.workspace, "pid"), { force: true });
      const used = await at.window.statusBar.used();
      await at.window.quickInput.runCommand("Tasks: Run Task");
      await at.window.quickInput.pick("pipeline");
      await at.window.quickInput.pick("pipeline: long");
      holder = await writtenPid(join(at.workspace, "pid"));
      await at.window.statusBar.waitForUsed(used + 1);
      await at.window.reload();
      while (isAlive(holder)) await pause(100);
    });
  });
}
