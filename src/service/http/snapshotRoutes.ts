import { createHash } from "node:crypto";
import type { Clock } from "../../contract/clock.ts";
import { PipelineError } from "../../contract/errors.ts";
import { largestSnapshot } from "../../contract/service.ts";
import type { Database } from "../store/tables.ts";
import { bodyBytes } from "./bodyBytes.ts";
import type { Endpoints } from "./endpoints.ts";
import { reply } from "./reply.ts";

export interface SnapshotRouteDeps {
  readonly db: Database;
  readonly clock: Clock;
}

/** The files of projects, which a start's `definition` names by their digest. Each is sent once. */
export function snapshotRoutes(endpoints: Endpoints, { db, clock }: SnapshotRouteDeps): void {
  const parts = { digest: "The SHA-256 of the snapshot, in hex." };
  endpoints.add(
    {
      method: "get",
      path: "/api/snapshots/{digest}",
      group: "runs",
      summary: "Whether the service has a snapshot of a project's files already",
      access: "members",
      parts,
      reply: { description: "It has.", json: "Snapshot" },
      errors: ["not-found"],
    },
    async (context, { parts: { digest } }) => {
      const { orgId } = context.get("caller");
      // It is needed for a start that is about to come, so it is kept from now on.
      const row = await db
        .updateTable("snapshots")
        .set({ used_at: clock.now() })
        .where("org_id", "=", orgId)
        .where("digest", "=", digest)
        .returning(({ fn }) => fn<number>("length", ["content"]).as("bytes"))
        .executeTakeFirst();
      if (row === undefined) throw new PipelineError("not-found", "The service has no such snapshot yet.");
      return reply({ digest, bytes: row.bytes });
    },
  );
  endpoints.add(
    {
      method: "put",
      path: "/api/snapshots/{digest}",
      group: "runs",
      summary: "Sends a snapshot of a project's files",
      description: `The body is a gzipped tar of at most ${largestSnapshot} bytes.`,
      access: "members",
      parts,
      reply: { description: "The service has it.", json: "Snapshot" },
    },
    async (context, { parts: { digest } }) => {
      const content = await bodyBytes(context, largestSnapshot);
      const actual = createHash("sha256").update(content).digest("hex");
      if (actual !== digest) {
        throw new PipelineError("invalid-request", `The body's SHA-256 is ${actual}, not ${digest}.`, {
          next: "Send it again, whole.",
        });
      }
      const { orgId } = context.get("caller");
      const row = { content, used_at: clock.now() };
      await db
        .insertInto("snapshots")
        .values({ org_id: orgId, digest, ...row })
        .onConflict((conflict) =>
          conflict.columns(["org_id", "digest"]).doUpdateSet({ used_at: row.used_at }),
        )
        .execute();
      return reply({ digest, bytes: content.length });
    },
  );
}
