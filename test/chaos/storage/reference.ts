import { copyFile, mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

/** The columns by which damage is judged. */
interface ReferenceRun {
  readonly id: string;
  readonly orgId: string;
  readonly day: string;
}

/** What SQLite itself reads from a database, without the service. */
export type Reference =
  | { readonly kind: "sound"; readonly runs: readonly ReferenceRun[]; readonly keys: number }
  | { readonly kind: "unsound"; readonly why: string };

/**
 * Looks at a copy of a service's database, which stays as it is.
 * @param place where the copy is made, a folder that isn't there.
 */
export async function referenceOf(folder: string, place: string): Promise<Reference> {
  await mkdir(place, { recursive: true });
  try {
    for (const name of ["runs.db", "runs.db-wal"]) {
      await copyFile(join(folder, name), join(place, name)).catch((error: unknown) => {
        if (!(error instanceof Error && "code" in error && error.code === "ENOENT")) throw error;
      });
    }
    return look(join(place, "runs.db"));
  } finally {
    await rm(place, { recursive: true });
  }
}

function look(file: string): Reference {
  let sqlite: DatabaseSync | undefined;
  try {
    sqlite = new DatabaseSync(file);
    const verdict = Object.values(sqlite.prepare("pragma integrity_check").get() ?? {})[0];
    if (verdict !== "ok") return { kind: "unsound", why: String(verdict) };
    const rows = sqlite.prepare("select id, org_id, day from runs order by id").all();
    const keys = Number(sqlite.prepare("select count(*) as keys from keys").get()?.["keys"]);
    return {
      kind: "sound",
      keys,
      runs: rows.map((row) => ({
        id: String(row["id"]),
        orgId: String(row["org_id"]),
        day: String(row["day"]),
      })),
    };
  } catch (error) {
    return { kind: "unsound", why: String(error) };
  } finally {
    sqlite?.close();
  }
}
