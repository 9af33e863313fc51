import type { Parts } from "./parts.ts";

/** What a command does; its arguments come from a keybinding, a menu or a link, and are checked by the command. */
export type Act = (parts: Parts, ...args: readonly unknown[]) => Promise<void>;

/**
 * Every command that the manifest contributes, by its id. Each loads its code when it is first used; nothing of it is
 * loaded with the window.
 */
export const acts: Readonly<Record<string, Act>> = {
  "pipelineRuns.cancel": async (parts) => (await import("./commands/cancelRun.ts")).cancelRun(parts),
  "pipelineRuns.cancelMine": async (parts) =>
    (await import("./commands/cancelMyRuns.ts")).cancelMyRuns(parts),
  "pipelineRuns.openLog": async (parts, wanted) => (await parts.runLogs()).open(wanted),
  "pipelineRuns.removeApiKey": async (parts) => (await import("./commands/apiKey.ts")).removeApiKey(parts),
  "pipelineRuns.run": async (parts) => (await import("./commands/runPipeline.ts")).runPipeline(parts),
  "pipelineRuns.setApiKey": async (parts) => (await import("./commands/apiKey.ts")).setApiKey(parts),
  "pipelineRuns.showLog": async ({ log }) => log.show(),
};
