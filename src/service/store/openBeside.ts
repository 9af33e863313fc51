import { checkChanges } from "./checkChanges.ts";
import { openDatabase } from "./openDatabase.ts";
import type { Database } from "./tables.ts";

/**
 * Opens the database in the data folder for who works beside a running service or without one, and no longer than that.
 * What a crash has damaged is refused here as it is at a service's start: the first who opens it would do the harm.
 * @throws as `checkChanges` and `openDatabase`.
 */
export async function openBeside(folder: string): Promise<Database> {
  await checkChanges(folder, () => {});
  return openDatabase(folder);
}
