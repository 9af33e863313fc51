import { lstat, readdir } from "node:fs/promises";
import module from "node:module";
import { dirname, join, resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { findEmbedded } from "../../client/embedded/findEmbedded.ts";
import { type Ended, restartEmbedded, stopEmbedded } from "../../client/embedded/startEmbedded.ts";
import { Logins } from "../../client/logins/logins.ts";
import { errorTypes, exitCodes, PipelineError } from "../../contract/errors.ts";
import { shellWord } from "../../contract/refusal.ts";
import type { ServiceState } from "../../contract/service.ts";
import { connectionFile, isStopped, readConnection } from "../../machine/connectionFile.ts";
import { dataFolder, serviceLogFile } from "../../machine/dataFolder.ts";
import { counted } from "../../text/counted.ts";
import { sizeText } from "../../text/size.ts";
import { ago } from "../runs/listRuns.ts";
import { rowsFor } from "../terminal/terminal.ts";
import { loadService, type Tool } from "../tool.ts";
import type { StoreFlags } from "./database.ts";

/** The data folder that a command uses, and what named it. */
interface DataFolder {
  readonly folder: string;
  readonly because: "--data-dir" | "PIPELINE_DATA_DIR" | "default";
}

type Flags = Pick<StoreFlags, "dataDir">;

function placeOf({ env }: Tool, { dataDir }: Flags): DataFolder {
  if (dataDir !== undefined) return { folder: resolve(dataDir), because: "--data-dir" };
  return { folder: dataFolder(env), because: env["PIPELINE_DATA_DIR"] ? "PIPELINE_DATA_DIR" : "default" };
}

/**
 * `pipeline service status`: what this machine's own service is and does. Doesn't start one.
 * @returns the exit code: 0 if it runs, else that of `out-of-reach`.
 */
export async function showStatus(tool: Tool, flags: Flags): Promise<number> {
  const place = placeOf(tool, flags);
  const { folder } = place;
  const [found, bytes, written] = await Promise.all([
    findEmbedded({ folder }, tool.interrupted),
    sizeOf(folder),
    readConnection(folder),
  ]);
  const state = await found?.client.serviceState(tool.interrupted);
  const stopped = found === undefined && isStopped(folder);
  const { url, pid, version } = found?.connection ?? {};
  const running = found !== undefined;
  const away = written && `does not answer: process ${written.pid} was killed, or hangs`;
  const rest = stopped ? `stopped: ${startsAgain(place)}` : "not running: it starts when something needs it";
  const rows = [
    ["service", running ? "running" : (away ?? rest)],
    ...Object.entries({ address: url, process: pid, version }).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, String(value)]],
    ),
    ...(state === undefined ? [] : stateRows(state, Date.now())),
    ["data", `${folder} (${sizeText(bytes)})`],
  ];
  const facts = { running, stopped, url, pid, version, ...state, dataFolder: folder, bytes };
  tool.output.result("service status", facts, rowsFor(tool.output.out, rows));
  return running ? exitCodes.done : errorTypes["out-of-reach"].exitCode;
}

function stateRows({ startedAt, runs, waiting }: ServiceState, now: number): string[][] {
  return [
    ["since", `${startedAt} (${ago(startedAt, now)})`],
    ...(runs.length === 0 ? [["active", "no run"]] : runs.map((run) => ["active", runText(run)])),
    ["waiting", waiting === 0 ? "no start" : counted(waiting, "start")],
  ];
}

function runText({ runId, pipeline, project }: ServiceState["runs"][number]): string {
  return `${pipeline} of ${project} (${runId})`;
}

/** The bytes of the files in a folder and below; links are not followed. 0 if there is no folder. */
async function sizeOf(folder: string): Promise<number> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const sizes = await Promise.all(
    entries.map(async (entry) => {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) return sizeOf(path);
      // The file may have been removed in the meantime.
      return (await lstat(path).catch(() => undefined))?.size ?? 0;
    }),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** `pipeline service where`: the files and folders of this machine's own service and of the tool. Doesn't start one. */
export async function showWhere(tool: Tool, flags: Flags): Promise<void> {
  const { folder, because } = placeOf(tool, flags);
  // The parent has a folder per Node.js version. Not from `compiledFolder`, which would split the tool's small entry.
  const compiled = module.getCompileCacheDir?.();
  const facts = {
    dataFolder: folder,
    because,
    database: join(folder, "runs.db"),
    runs: join(folder, "runs"),
    serviceLog: serviceLogFile(folder),
    connection: connectionFile(folder),
    logins: new Logins(tool.env).folder,
    ...(compiled === undefined ? {} : { cache: dirname(compiled) }),
  };
  const by =
    because === "default"
      ? "the system's folder; PIPELINE_DATA_DIR or --data-dir names another"
      : `named by ${because}`;
  const rows = [
    ["data folder", facts.dataFolder, by],
    ["database", facts.database, "orgs, keys, runs and their steps"],
    ["runs", facts.runs, "the log and the artifacts of each run"],
    ["service log", facts.serviceLog, "of a service that a window or the tool has started"],
    ["connection", facts.connection, "how windows and tools find it while it runs"],
    ["logins", facts.logins, "keys for other services; PIPELINE_CONFIG_DIR names another"],
    ...(facts.cache === undefined
      ? []
      : [["cache", facts.cache, "compiled code; PIPELINE_CACHE_DIR names another"]]),
  ];
  tool.output.result("service where", facts, rowsFor(tool.output.out, rows));
}

/** `pipeline service stop`: ends the runs and the service, which stays stopped until a person asks for it. */
export async function stopService(tool: Tool, flags: Flags): Promise<void> {
  const { output, interrupted } = tool;
  const place = placeOf(tool, flags);
  const { folder } = place;
  output.passing("Ending the active runs.");
  const ended = await stopEmbedded({ folder }, interrupted);
  await leftFolder(folder, interrupted);
  const { pid } = ended?.was.connection ?? {};
  const { runs = [], waiting = 0 } = ended?.state ?? {};
  const text = ended === undefined ? "It was not running." : `Stopped: process ${pid}.`;
  output.result("service stop", { stopped: true, pid, runs, waiting, dataFolder: folder }, text);
  noteEnded(tool, ended, "Turned away");
  output.note(startsAgain(place));
}

/** How to start a stopped service. If only an option names its folder, windows and other commands can't find it. */
function startsAgain({ folder, because }: DataFolder): string {
  return because === "--data-dir"
    ? `\`pipeline service restart --data-dir ${shellWord(folder)}\` starts it again.`
    : "`pipeline run`, `pipeline service restart` or Start in a window starts it again.";
}

/** `pipeline service restart`: ends the runs and the service, if it is running, and starts it. */
export async function restartService(tool: Tool, flags: Flags): Promise<void> {
  const { folder } = placeOf(tool, flags);
  const { output, interrupted, env } = tool;
  output.passing("Ending the active runs.");
  const servicePath = join(tool.programs, "service.js");
  const deps = { folder, env, execPath: process.execPath, servicePath };
  const { ended, now } = await restartEmbedded(deps, interrupted);
  const { url, pid, version } = now.connection;
  const { runs = [], waiting = 0 } = ended?.state ?? {};
  const facts = { url, pid, version, runs, waiting, dataFolder: folder };
  const how = ended === undefined ? "Started" : "Restarted";
  output.result("service restart", facts, `${how}: process ${pid} at ${url}.`);
  noteEnded(tool, ended, "Still waiting");
}

function noteEnded({ output }: Tool, ended: Ended | undefined, waiters: string): void {
  if (ended === undefined) return;
  const { runs, waiting } = ended.state;
  for (const run of runs) output.note(`Cancelled: ${runText(run)}`);
  if (waiting > 0) output.note(`${waiters}: ${counted(waiting, "start")}`);
}

/** In milliseconds: how long a service without active runs may take to leave its folder, and how often that is checked. */
const leaving = { longest: 10_000, pause: 20 } as const;

/**
 * Resolves once no service holds the folder.
 * @throws PipelineError `conflict` if another call has asked for a start in the meantime; `out-of-reach` if the service doesn't
 * leave the folder.
 */
async function leftFolder(folder: string, signal: AbortSignal): Promise<void> {
  const { lockFolder } = await loadService(() => import("../../service/lifecycle/folderLock.ts"));
  const deadline = performance.now() + leaving.longest;
  for (;;) {
    const lock = lockFolder(folder);
    lock?.[Symbol.dispose]();
    if (lock !== undefined) return;
    if (!isStopped(folder)) {
      throw new PipelineError("conflict", "Another call has started the service again meanwhile.", {
        next: "`pipeline service stop` stops that one too.",
      });
    }
    if (performance.now() >= deadline) throw await stillThere(folder);
    await pause(leaving.pause, undefined, { signal });
  }
}

async function stillThere(folder: string): Promise<PipelineError> {
  const holder = await readConnection(folder);
  const named = holder === undefined ? "" : ` (process ${holder.pid})`;
  const message = `A service${named} still holds the folder ${folder}, and does not answer.`;
  return new PipelineError("out-of-reach", message, {
    next: "End that process, where it runs: maybe in another container or on another machine, which shares the folder. Its runs end with it, and no window starts it again before you ask.",
  });
}
