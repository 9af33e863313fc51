import type { ServedRun } from "../../contract/run.ts";
import { asRun } from "./runs.ts";
import type { Database } from "./tables.ts";

/** Where a page of runs lies: the newest ones, those before a run in time, or those after it. */
export type PagePlace =
  | { readonly kind: "newest" }
  | { readonly kind: "older"; readonly than: string }
  | { readonly kind: "newer"; readonly than: string };

export interface RunPage {
  /** Newest first. */
  readonly runs: readonly ServedRun[];
  /** The run that the page of newer ones is reached by; undefined on the first page. */
  readonly newer: string | undefined;
  readonly older: string | undefined;
}

/** A page of the org's runs that can be turned both ways; turning to newer ones ends at a whole first page. */
export async function readRunPage(
  db: Database,
  orgId: string,
  place: PagePlace,
  size: number,
): Promise<RunPage> {
  const rows = db
    .selectFrom("runs")
    .selectAll()
    .where("org_id", "=", orgId)
    .limit(size + 1);
  switch (place.kind) {
    case "newest": {
      const found = await rows.orderBy("id", "desc").execute();
      const runs = found.slice(0, size).map(asRun);
      return { runs, newer: undefined, older: found.length > size ? runs.at(-1)?.runId : undefined };
    }
    case "older": {
      const found = await rows.where("id", "<", place.than).orderBy("id", "desc").execute();
      const runs = found.slice(0, size).map(asRun);
      const newer = runs.at(0)?.runId ?? place.than;
      return { runs, newer, older: found.length > size ? runs.at(-1)?.runId : undefined };
    }
    case "newer": {
      const found = await rows.where("id", ">", place.than).orderBy("id", "asc").execute();
      if (found.length <= size) return readRunPage(db, orgId, { kind: "newest" }, size);
      const runs = found.slice(0, size).map(asRun).reverse();
      return { runs, newer: runs.at(0)?.runId, older: runs.at(-1)?.runId };
    }
    default:
      return place satisfies never;
  }
}
