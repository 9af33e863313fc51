import type { Parts } from "./parts.ts";

/** What a command does; its arguments come from a keybinding, a menu or a link, and are checked by the command. */
export type Act = (parts: Parts, ...args: readonly unknown[]) => Promise<void>;

/**
 * Every command that the manifest contributes, by its id. Each loads its code when it is first used; nothing of it is
 * loaded with the window.
 */
export const acts: Readonly<Record<string, Act>> = {
  "pipelineRuns.cancel": async (parts, run) =>
    (await import("./commands/cancelRun.ts")).cancelRun(parts, run),
  "pipelineRuns.cancelMine": async (parts) => (await import("./commands/cancelRun.ts")).cancelMyRuns(parts),
  "pipelineRuns.cancelRetry": async (parts) =>
    (await import("./commands/pendingStarts.ts")).cancelRetry(parts),
  "pipelineRuns.chooseKey": async (parts) => (await import("./commands/keyCommands.ts")).chooseKey(parts),
  "pipelineRuns.copyRunId": async (parts, run) =>
    (await import("./commands/viewCommands.ts")).copyRunId(parts, run),
  "pipelineRuns.loadMore": ({ runs, signal }) => runs.loadMore(signal),
  "pipelineRuns.newPipeline": async ({ window }) =>
    (await import("./commands/newPipeline.ts")).newPipeline(window),
  "pipelineRuns.openInBrowser": async (parts, run) =>
    (await import("./commands/viewCommands.ts")).openInBrowser(parts, run),
  "pipelineRuns.openLog": async (parts, wanted) => (await parts.runLogs()).open(wanted),
  "pipelineRuns.openPipeline": async (parts, file) =>
    (await import("./commands/viewCommands.ts")).openPipeline(parts, file),
  "pipelineRuns.refresh": async (parts) => (await import("./commands/viewCommands.ts")).refreshRuns(parts),
  "pipelineRuns.removeApiKey": async (parts) =>
    (await import("./commands/keyCommands.ts")).removeApiKey(parts),
  "pipelineRuns.retryAtReset": async (parts, given) =>
    (await import("./commands/pendingStarts.ts")).retryAtReset(parts, given),
  "pipelineRuns.run": async (parts, given) =>
    (await import("./commands/runPipeline.ts")).runPipeline(parts, given),
  "pipelineRuns.runAgain": async (parts, run) =>
    (await import("./commands/runPipeline.ts")).runAgain(parts, run),
  "pipelineRuns.runFile": async (parts, given) =>
    (await import("./commands/runPipeline.ts")).runPipeline(parts, given ?? parts.activeFile()),
  "pipelineRuns.setApiKey": async (parts) => (await import("./commands/keyCommands.ts")).setApiKey(parts),
  "pipelineRuns.showLog": async ({ log }) => log.show(),
  "pipelineRuns.showMenu": async (parts) => (await import("./status/statusActions.ts")).showMenu(parts),
  "pipelineRuns.stopWaiting": async (parts) =>
    (await import("./commands/pendingStarts.ts")).stopWaiting(parts),
  "pipelineRuns.whoHolds": async (parts, given) =>
    (await import("./commands/whoHolds.ts")).whoHolds(parts, given),
};
