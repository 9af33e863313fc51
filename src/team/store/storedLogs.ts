import { PipelineError } from "../../contract/errors.ts";
import {
  LineReader,
  type LogReader,
  type LogStore,
  type LogTail,
  type OpenArtifact,
  readLogLine,
  tailBytes,
  tailOf,
} from "../../service/runs/logStore.ts";
import type { Database, Write } from "../../service/store/tables.ts";
import { artifactKey, logKey, movedRun } from "./movedFiles.ts";
import { type ObjectStore, pieceBytes, type StoredObject } from "./objectStore.ts";
import type { PostgresBus } from "./postgresBus.ts";

interface StoredLogsDeps {
  readonly db: Database;
  readonly bus: Pick<PostgresBus, "subscribeToAll">;
  readonly store?: ObjectStore | undefined;
}

/** The logs and artifacts of runs: in the database, as runners sent them, or in the object store once they are moved. */
export function storedLogs({ db, bus, store }: StoredLogsDeps): LogStore {
  return {
    isOpen: () => false,
    reader: (runId) => logReader({ db, store }, runId),
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
      // The rows end before the first entry, so they aren't in the database any more.
      const moved = bytes < tailBytes && before !== 1 ? await movedTail({ db, store }, runId) : undefined;
      if (moved !== undefined) return moved;
      const entries = chunks.flatMap((lines) => lines.split("\n")).flatMap(readLogLine);
      return { entries, isWhole: (entries[0]?.sequence ?? 1) === 1 };
    },
    subscribe: (runId, listener) =>
      bus.subscribeToAll((orgId, event) => {
        const isOfRun = event.kind === "log" && event.runId === runId;
        // An empty org means that the connection was lost, so anything may have happened.
        if (isOfRun || orgId === "") listener();
      }),
    async openArtifact(runId, file) {
      const row = await db
        .selectFrom("artifact_contents")
        .select("content")
        .where("run_id", "=", runId)
        .where("file", "=", file)
        .executeTakeFirst();
      if (row === undefined) return movedArtifact({ db, store }, runId, file);
      const { content } = row;
      return { size: content.length, stream: () => ReadableStream.from([content]), close: async () => {} };
    },
  };
}

type Sources = Pick<StoredLogsDeps, "db" | "store">;

/** Reads the rows, and goes on in the object store where they have been moved meanwhile. */
async function logReader(sources: Sources, runId: string): Promise<LogReader> {
  const rows = rowReader(sources.db, runId);
  const openMoved = async () => {
    const log = await movedLog(sources, runId);
    const lines = log && new LineReader(pieceBytes, log.at);
    return lines && { next: (after: number) => lines.next(after, log.size) };
  };
  let moved = await openMoved();
  let read = 0;
  return {
    async next(after) {
      const from = Math.max(after, read);
      let chunk = await (moved ?? rows).next(from);
      if (chunk === undefined && moved === undefined) {
        moved = await openMoved();
        chunk = await moved?.next(from);
      }
      if (chunk !== undefined) read = chunk.first + chunk.lines.length - 1;
      return chunk;
    },
    async [Symbol.asyncDispose]() {},
  };
}

/** @returns undefined while the run's files are in the database. */
async function movedLog({ db, store }: Sources, runId: string): Promise<StoredObject | undefined> {
  const moved = await movedRun(db, store, runId);
  if (moved === undefined) return undefined;
  if (!moved.hasLog) return { size: 0, at: async () => Buffer.alloc(0) };
  const log = await moved.store.open(logKey(runId));
  if (log !== undefined) return log;
  throw new PipelineError("not-found", "The log of this run is in the object store no more.", {
    next: "Whoever runs the service can look for what has removed it there.",
  });
}

async function movedTail(sources: Sources, runId: string): Promise<LogTail | undefined> {
  const log = await movedLog(sources, runId);
  if (log === undefined) return undefined;
  const start = Math.max(0, log.size - tailBytes);
  return tailOf(await log.at(start, log.size - start), start === 0);
}

async function movedArtifact(
  { db, store }: Sources,
  runId: string,
  file: string,
): Promise<OpenArtifact | undefined> {
  const moved = await movedRun(db, store, runId);
  const object = await moved?.store.open(artifactKey(runId, file));
  if (object === undefined) return undefined;
  const { size, at } = object;
  async function* pieces() {
    for (let position = 0; position < size; position += pieceBytes)
      yield await at(position, Math.min(pieceBytes, size - position));
  }
  return { size, stream: () => ReadableStream.from(pieces()), close: async () => {} };
}

/** How many chunks of up to 64 KB are read at once. */
const mostChunks = 32;

function rowReader(db: Database, runId: string): Pick<LogReader, "next"> {
  // The last sequence number that was read.
  let read = 0;
  return {
    async next(after) {
      const from = Math.max(after, read);
      // Reads the chunk with the next line, and those after it: the chunks of a run have no gaps. After a whole chunk, the next
      // line begins a new one.
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
