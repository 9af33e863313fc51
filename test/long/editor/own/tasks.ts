import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { OwnService } from "../../../editor/screen/ownService.ts";
import { isAlive } from "../../../isAlive.ts";
import { writtenPid } from "../../../service/startedService.ts";
import { until } from "../../../until.ts";

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

    it("cancel their run when the window is reloaded", async () => {
      const used = await at.window.statusBar.used();
      const holder = await startTask();
      await at.window.statusBar.waitForUsed(used + 1);
      await at.window.reload();
      await until(async () => !isAlive(holder));
    });
  });
}
