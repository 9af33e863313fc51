import { PipelineError } from "../../contract/errors.ts";
import { largestSnapshot } from "../../contract/service.ts";
import type { Clock } from "../../machine/clock.ts";
import type { Endpoints } from "../../service/http/endpoints.ts";
import { reply } from "../../service/http/reply.ts";
import { bodyPieces } from "../../service/http/requestInput.ts";
import type { Database } from "../../service/store/tables.ts";
import type { Writer } from "../../service/store/writer.ts";
import { keepSnapshot, putSnapshot } from "../store/storedSnapshots.ts";

/** The files of projects, which a start's `definition` names by their digest. Each is sent once. */
export function snapshotRoutes(
  endpoints: Endpoints,
  { db, writer, clock }: { readonly db: Database; readonly writer: Writer; readonly clock: Clock },
): void {
  const params = { digest: "The SHA-256 of the snapshot, in hex." };
  endpoints.add(
    {
      method: "get",
      path: "/api/snapshots/{digest}",
      summary: "Whether the service has a snapshot of a project's files already",
      access: "members",
      params,
      reply: { description: "It has.", json: "Snapshot" },
      errors: ["not-found"],
    },
    async (context, { params: { digest } }) => {
      const bytes = await keepSnapshot(db, { orgId: context.get("caller").orgId, digest }, clock.now());
      if (bytes === undefined) throw new PipelineError("not-found", "The service has no such snapshot yet.");
      return reply({ digest, bytes });
    },
  );
  endpoints.add(
    {
      method: "put",
      path: "/api/snapshots/{digest}",
      summary: "Sends a snapshot of a project's files",
      description: `The body is a gzipped tar of at most ${largestSnapshot} bytes.`,
      access: "members",
      params,
      reply: { description: "The service has it.", json: "Snapshot" },
    },
    async (context, { params: { digest } }) => {
      const length = Number(context.env.incoming.headers["content-length"] ?? Number.NaN);
      if (Number.isNaN(length)) {
        throw new PipelineError("invalid-request", "The request doesn't say how long its body is.", {
          next: "Send it with Content-Length.",
        });
      }
      const content = { length, pieces: bodyPieces(context, largestSnapshot) };
      const { orgId } = context.get("caller");
      await putSnapshot({ db, writer }, { orgId, digest }, content, clock.now());
      return reply({ digest, bytes: content.length });
    },
  );
}
