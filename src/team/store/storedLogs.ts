import { type LogReader, type LogStore, readLogLine, tailBytes } from "../../service/runs/logStore.ts";
import type { Database, Write } from "../../service/store/tables.ts";
import type { PostgresBus } from "./postgresBus.ts";

/** The logs and artifacts of runs in the database, as their runners have sent them. */
export function storedLogs({ db, bus }: { readonly db: Database; readonly bus: PostgresBus }): LogStore {
  return {
    isOpen: () => false,
    reader: (runId) => logReader(db, runId),
    async tail(runId) {
      const chunks: string[] = [];
      let bytes = 0;
      let before = Number.MAX_SAFE_INTEGER;
      while (bytes < tailBytes) {
        const chunk = await db
          .selectFrom("log_chunks")
          .select(["first", "lines"])
          .where("run_id", "=", runId)
          .where("first", "<", before)
          .orderBy("first", "desc")
          .limit(1)
          .executeTakeFirst();
        if (chunk === undefined) break;
        chunks.unshift(chunk.lines);
        bytes += chunk.lines.length;
        before = chunk.first;
      }
      const entries = chunks.flatMap((lines) => lines.split("\n")).flatMap(readLogLine);
      return { entries, isWhole: (entries[0]?.sequence ?? 1) === 1 };
    },
    subscribe: (runId, listener) =>
      bus.subscribeToAll((orgId, event) => {
        const isOfRun = event.kind === "log" && event.runId === runId;
        // An empty org: the connection was lost, and anything may have happened.
        if (isOfRun || orgId === "") listener();
      }),
    async openArtifact(runId, file) {
      const row = await db
        .selectFrom("artifact_contents")
        .select("content")
        .where("run_id", "=", runId)
        .where("file", "=", file)
        .executeTakeFirst();
      if (row === undefined) return undefined;
      const { content } = row;
      return { size: content.length, stream: () => ReadableStream.from([content]), close: async () => {} };
    },
  };
}

/** How many chunks of up to 64 KB are read at once. */
const mostChunks = 32;

function logReader(db: Database, runId: string): LogReader {
  // The last sequence number that was read.
  let read = 0;
  return {
    async next(after) {
      const from = Math.max(after, read);
      // The chunks of a run have no gaps: the one that the next line is in, and those behind it. Behind a whole chunk, the next
      // line begins one.
      const ofRun = db.selectFrom("log_chunks").where("run_id", "=", runId);
      const begin =
        from === read
          ? from + 1
          : ofRun.where("first", "<=", from + 1).select(({ fn }) => fn.max("first").as("first"));
      const chunks = await ofRun
        .select(["first", "lines"])
        .where("first", ">=", begin)
        .orderBy("first")
        .limit(mostChunks)
        .execute();
      const [chunk] = chunks;
      if (chunk === undefined) return undefined;
      const lines = chunks.flatMap((one) => one.lines.split("\n"));
      read = chunk.first + lines.length - 1;
      if (read <= from) return undefined;
      return { first: from + 1, lines: lines.slice(from + 1 - chunk.first) };
    },
    async [Symbol.asyncDispose]() {},
  };
}

/** Stores the content of an artifact, before the run lists it. Sent again, it is replaced. */
export async function putArtifactContent(
  tx: Write,
  runId: string,
  file: string,
  content: Buffer,
): Promise<void> {
  await tx
    .insertInto("artifact_contents")
    .values({ run_id: runId, file, content })
    .onConflict((conflict) => conflict.columns(["run_id", "file"]).doUpdateSet({ content }))
    .execute();
}
