import { once } from "node:events";
import { resolve } from "node:path";
import { exitCodes, PipelineError } from "../../contract/errors.ts";
import { readConnection } from "../../machine/connectionFile.ts";
import type { OtherOwner } from "../../machine/dataFolder.ts";
import { ownVersion } from "../../machine/versions.ts";
import type { Tool } from "../tool.ts";
import { loadService } from "../tool.ts";

/**
 * `pipeline serve`: runs the embedded service in the foreground until an interrupt.
 * @throws PipelineError `conflict` if a service for this folder is running.
 */
export async function serveInForeground(
  tool: Tool,
  options: {
    readonly port: number;
    readonly folder: string;
    readonly otherOwner: OtherOwner;
    /** Default: `PIPELINE_RETENTION_DAYS`. */
    readonly retentionDays: number | undefined;
  },
): Promise<number> {
  const [{ serve }, { lineLog, logLevel, standardErrorLog }, { retentionDaysOf }] = await loadService(() =>
    Promise.all([
      import("../../service/server.ts"),
      import("../../machine/log.ts"),
      import("../../service/runs/retention.ts"),
    ]),
  );
  const days = options.retentionDays ?? retentionDaysOf(tool.env);
  const serving = await serve({
    folder: options.folder,
    otherOwner: options.otherOwner,
    port: options.port,
    runnerPath: tool.runnerPath,
    pageFolder: tool.pageFolder,
    env: tool.env,
    ...(days === undefined ? {} : { retention: { days } }),
    log: lineLog(standardErrorLog(), Date.now, logLevel(tool.env)),
  });
  if (serving === "taken") {
    const other = await readConnection(options.folder);
    const where = other === undefined ? "" : ` at ${other.url} (process ${other.pid})`;
    throw new PipelineError("conflict", `The folder ${options.folder} is already being served${where}.`, {
      next: "Use that one, end it, or name another folder with --data-dir.",
    });
  }
  tellServing(tool, serving.url);
  const stop = () => void serving.stop();
  if (tool.interrupted.aborted) stop();
  tool.interrupted.addEventListener("abort", stop, { once: true });
  await serving.stopped;
  return exitCodes.done;
}

/** `pipeline backup`: copies the data folder's database, whether or not a service is running. */
export async function backup(
  tool: Tool,
  options: { readonly file: string; readonly folder: string },
): Promise<number> {
  const { backupDatabase } = await loadService(() => import("../../service/store/backupDatabase.ts"));
  const file = resolve(tool.folder, options.file);
  await backupDatabase(options.folder, file);
  tool.output.result("backup", { file }, `Written: ${file}`);
  return exitCodes.done;
}

/** `pipeline serve --database`: a server of a service for many machines, until an interrupt. */
export async function serveDatabaseInForeground(
  tool: Tool,
  options: {
    readonly url: string;
    readonly host: string;
    readonly port: number;
    readonly retentionDays: number | undefined;
  },
): Promise<number> {
  const [{ serveDatabase }, { lineLog, logLevel, standardErrorLog }, { defaultRetention, retentionDaysOf }] =
    await loadService(() =>
      Promise.all([
        import("../../team/serveDatabase.ts"),
        import("../../machine/log.ts"),
        import("../../service/runs/retention.ts"),
      ]),
    );
  const serving = await serveDatabase({
    ...options,
    pageFolder: tool.pageFolder,
    version: ownVersion,
    retentionDays: options.retentionDays ?? retentionDaysOf(tool.env) ?? defaultRetention.days,
    log: lineLog(standardErrorLog(), Date.now, logLevel(tool.env)),
  });
  tellServing(tool, serving.url);
  if (!tool.interrupted.aborted) await once(tool.interrupted, "abort");
  await serving.stop();
  return exitCodes.done;
}

function tellServing({ output }: Tool, url: string): void {
  const { pid } = process;
  output.exactResult("serve", { url, pid }, `Serving at ${url} (process ${pid}). Ctrl-C stops it.`);
}
