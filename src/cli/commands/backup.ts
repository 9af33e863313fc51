import { resolve } from "node:path";
import { exitCodes } from "../../contract/exitCodes.ts";
import { loadService } from "../loadService.ts";
import type { Tool } from "../tool.ts";

/** `pipeline backup`: copies the database of the data folder, beside a running service or without one. */
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
