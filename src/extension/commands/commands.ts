import type { ComposedWindow } from "../compose.ts";
import type { AskedInputs } from "../start/askInputs.ts";
import type { RunPipelineDeps } from "./runPipeline.ts";

/** What the window provides to its commands. Each command takes only what its own type names. */
type CommandDeps = ComposedWindow["commandDeps"];

/** A command. Its arguments come from a keybinding, a menu or a link, so it checks them. */
type Command = (deps: CommandDeps, ...args: readonly unknown[]) => Promise<void>;

/** Every command that the manifest contributes, by id. A command's code is loaded when it is first used. */
export const commands: Readonly<Record<string, Command>> = {
  "pipelineRuns.cancel": async (deps, run) => (await import("./cancelRun.ts")).cancelRun(deps, run),
  "pipelineRuns.cancelMine": async (deps) => (await import("./cancelRun.ts")).cancelMyRuns(deps),
  "pipelineRuns.cancelRetry": async (deps) => (await import("./pendingStarts.ts")).cancelRetry(deps),
  "pipelineRuns.chooseKey": async (deps) => (await import("./keyCommands.ts")).chooseKey(deps),
  "pipelineRuns.copyRunId": async (deps, run) => (await import("./viewCommands.ts")).copyRunId(deps, run),
  "pipelineRuns.filterPipelines": async (deps) => (await import("../views/filters.ts")).filterPipelines(deps),
  "pipelineRuns.filterRuns": async (deps) => (await import("../views/filters.ts")).filterRuns(deps),
  "pipelineRuns.loadMore": ({ runs, signal }) => runs.loadMore(signal),
  "pipelineRuns.newPipeline": async ({ window }) => (await import("./newPipeline.ts")).newPipeline(window),
  "pipelineRuns.openInBrowser": async (deps, run) =>
    (await import("./viewCommands.ts")).openInBrowser(deps, run),
  "pipelineRuns.openLog": ({ openLog }, run) => openLog(run),
  "pipelineRuns.openPipeline": async (deps, file) =>
    (await import("./viewCommands.ts")).openPipeline(deps, file),
  "pipelineRuns.refresh": async (deps) => (await import("./viewCommands.ts")).refreshRuns(deps),
  "pipelineRuns.removeApiKey": async (deps) => (await import("./keyCommands.ts")).removeApiKey(deps),
  "pipelineRuns.restartService": async (deps) => (await import("./serviceCommands.ts")).restartService(deps),
  "pipelineRuns.retryAtReset": async (deps, pipeline) =>
    (await import("./pendingStarts.ts")).retryAtReset(deps, pipeline),
  "pipelineRuns.run": (deps, pipeline) => run(deps, pipeline),
  "pipelineRuns.runAgain": async (deps, run) => (await import("./runPipeline.ts")).runAgain(deps, run),
  "pipelineRuns.runFile": (deps, file) => run(deps, file ?? deps.activeFile()),
  "pipelineRuns.runFromStep": async (deps, step) =>
    (await import("./runPipeline.ts")).runFromStep(deps, step),
  "pipelineRuns.runWithInputs": (deps, pipeline) => run(deps, pipeline, "all"),
  "pipelineRuns.setApiKey": async (deps) => (await import("./keyCommands.ts")).setApiKey(deps),
  "pipelineRuns.showLog": async ({ log }) => log.show(),
  "pipelineRuns.showMenu": async (deps) => (await import("../status/statusFacts.ts")).showMenu(deps),
  "pipelineRuns.startService": async (deps) => (await import("./serviceCommands.ts")).startService(deps),
  "pipelineRuns.stopService": async (deps) => (await import("./serviceCommands.ts")).stopService(deps),
  "pipelineRuns.stopWaiting": async (deps) => (await import("./pendingStarts.ts")).stopWaiting(deps),
  "pipelineRuns.whatCounts": ({ openPage }) => openPage(whatCounts),
  "pipelineRuns.whoHolds": async (deps, pipeline) => (await import("./whoHolds.ts")).whoHolds(deps, pipeline),
};

/** A page of the docs that come with the extension. */
const whatCounts = "docs/what-counts.md";

async function run(deps: CommandDeps, given: unknown, which?: AskedInputs): Promise<void> {
  const { runPipeline } = await import("./runPipeline.ts");
  const starting: RunPipelineDeps = {
    ...deps,
    refusalActions: {
      "retry-at-reset": async (start) => (await import("./pendingStarts.ts")).deferToReset(deps, start),
      "cancel-mine": async () => (await import("./cancelRun.ts")).cancelMyRuns(deps),
      "who-holds": async (start) => {
        const { showHolders } = await import("./whoHolds.ts");
        const { startPipeline } = await import("../start/startPipeline.ts");
        await showHolders(deps, start.pipeline, () => startPipeline(start, starting));
      },
      "what-counts": () => deps.openPage(whatCounts),
    },
  };
  await runPipeline(starting, given, which);
}
