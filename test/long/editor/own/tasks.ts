import { rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { OwnService } from "../../../editor/screen/ownService.ts";
import { isAlive } from "../../../isAlive.ts";
import { writtenPid } from "../../../service/startedService.ts";

export function tasks(at: OwnService): void {
  describe("pipelines as tasks", () => {
    /** Starts the run of a task. @returns the process id of its step. */
    const startTask = async () => {
      await rm(join(at.workspace, "pid"), { force: true });
      await at.window.quickInput.runCommand("Tasks: Run Task");
      await at.window.quickInput.pick("pipeline");
      await at.window.quickInput.pick("pipeline: long");
      return writtenPid(join(at.workspace, "pid"));
    };

    it("cancel their run when they are terminated", async () => {
      const holder = await startTask();
      await at.window.quickInput.runCommand("Tasks: Terminate Task");
      const row = at.window.page.locator(".quick-input-list .monaco-list-row", { hasText: "long" });
      // With one task at work the editor may not ask which.
      while (isAlive(holder)) {
        if (await row.isVisible()) await row.click({ timeout: 1000 }).catch(() => {});
        await pause(100);
      }
    });

    it("cancel their run also when the window is reloaded", async () => {
      const used = await at.window.statusBar.used();
      const holder = await startTask();
      await at.window.statusBar.waitForUsed(used + 1);
      await at.window.reload();
      while (isAlive(holder)) await pause(100);
    });
  });
}
