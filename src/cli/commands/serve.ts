import { once } from "node:events";
import { join, resolve } from "node:path";
import { PipelineError } from "../../contract/errors.ts";
import { readConnection } from "../../machine/connectionFile.ts";
import { dataFolder } from "../../machine/dataFolder.ts";
import { lineLog, logLevel, standardErrorLog } from "../../machine/log.ts";
import { ownVersion } from "../../machine/versions.ts";
import { defaultRetention, retentionDaysOf } from "../../service/runs/retention.ts";
import type { Tool } from "../tool.ts";
import type { StoreFlags } from "./database.ts";

interface ServeFlags extends StoreFlags {
  readonly port: number;
  readonly host?: string;
  readonly objectStore?: string;
  readonly retentionDays?: number;
  readonly allowOtherOwner?: true;
}

/**
 * `pipeline serve`: runs the embedded service, or with `--database` one server of a service for many machines, in the foreground
 * until an interrupt.
 * @throws PipelineError `conflict` if a service is already running for this folder.
 */
export async function serveInForeground(tool: Tool, flags: ServeFlags): Promise<void> {
  const { env, interrupted, programs } = tool;
  const pageFolder = join(programs, "page");
  const { database, host, port, objectStore: named } = flags;
  if (database === undefined && host !== undefined) {
    throw new PipelineError("usage", "--host is for --database only.", {
      next: "This machine's own service listens on 127.0.0.1 alone: whoever has its key runs programs here.",
    });
  }
  if (database === undefined && named !== undefined) {
    throw new PipelineError("usage", "--object-store is for --database only.", {
      next: "This machine's own service keeps logs and artifacts in its data folder.",
    });
  }
  const days = flags.retentionDays ?? retentionDaysOf(env);
  const log = lineLog(standardErrorLog(), Date.now, logLevel(env));
  if (database !== undefined) {
    const { objectStoreSettings } = await import("../../team/store/objectStore.ts");
    const { serveDatabase } = await import("../../team/serveDatabase.ts");
    const objectStore = named === undefined ? undefined : objectStoreSettings(named, env);
    const retentionDays = days ?? defaultRetention.days;
    const place = {
      url: database,
      host: host ?? "127.0.0.1",
      port,
      parserPath: join(programs, "parser.js"),
      pageFolder,
    };
    const serving = await serveDatabase({ ...place, version: ownVersion, retentionDays, objectStore, log });
    tellServing(tool, serving.url);
    if (!interrupted.aborted) await once(interrupted, "abort");
    await serving.stop();
    return;
  }
  const { serve } = await import("../../service/server.ts");
  const folder = flags.dataDir ?? dataFolder(env);
  const otherOwner = flags.allowOtherOwner ? "allowed" : "refused";
  const retention = days === undefined ? {} : { days };
  const runnerPath = join(programs, "runner.js");
  const serving = await serve({ folder, otherOwner, port, runnerPath, pageFolder, env, retention, log });
  if (serving === "taken") {
    const other = await readConnection(folder);
    const where = other === undefined ? "" : ` at ${other.url} (process ${other.pid})`;
    throw new PipelineError("conflict", `The folder ${folder} is already being served${where}.`, {
      next: "Use that one, end it, or name another folder with --data-dir.",
    });
  }
  tellServing(tool, serving.url);
  const stop = () => void serving.stop();
  if (interrupted.aborted) stop();
  interrupted.addEventListener("abort", stop, { once: true });
  await serving.stopped;
}

function tellServing({ output }: Tool, url: string): void {
  const { pid } = process;
  output.exactResult("serve", { url, pid }, `Serving at ${url} (process ${pid}). Ctrl-C stops it.`);
}

/** `pipeline backup`: copies the data folder's database, whether or not a service is running. */
export async function backup(
  { output, folder, env }: Tool,
  { dataDir = dataFolder(env) }: Pick<StoreFlags, "dataDir">,
  named: string,
): Promise<void> {
  const { backupDatabase } = await import("../../service/store/backupDatabase.ts");
  const file = resolve(folder, named);
  await backupDatabase(dataDir, file);
  output.result("backup", { file }, `Written: ${file}`);
}
