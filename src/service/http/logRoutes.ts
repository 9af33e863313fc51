import { Hono } from "hono";
import { PipelineError } from "../../contract/errors.ts";
import type { ServedRun } from "../../contract/run.ts";
import { Bell } from "../bell.ts";
import type { Caller } from "../store/keys.ts";
import { readRun } from "../store/runs.ts";
import type { AppDeps } from "./appDeps.ts";
import type { SignedIn } from "./authenticate.ts";
import { liveReply, silenceMilliseconds } from "./liveReply.ts";
import { noSuchRun } from "./noSuchRun.ts";
import { refuseRemoved } from "./removedFiles.ts";

type LogDeps = Pick<AppDeps, "db" | "clock" | "logs" | "changes" | "log" | "replies" | "runs">;

/** How the entries and the run's end stand in a reply. */
interface Format {
  readonly contentType: "text/event-stream" | "application/x-ndjson";
  readonly opening: string;
  readonly entry: (sequence: number, json: string) => string;
  readonly end: (run: ServedRun) => string;
  readonly silence: string | undefined;
}

const eventStream: Format = {
  contentType: "text/event-stream",
  opening: "retry: 1000\n\n",
  entry: (sequence, json) => `id: ${sequence}\nevent: log\ndata: ${json}\n\n`,
  end: ({ runId, status }) => `event: end\ndata: ${JSON.stringify({ "run-id": runId, status })}\n\n`,
  silence: ": here\n\n",
};

const jsonLines: Format = {
  contentType: "application/x-ndjson",
  opening: "",
  entry: (_, json) => `${json}\n`,
  end: () => "",
  silence: undefined,
};

/**
 * `GET /api/runs/{id}/log`: the log so far, then live until the run has stopped (contract: "Endpoints"); with `follow=false`
 * no more than what is there now.
 */
export function logRoutes(deps: LogDeps): Hono<SignedIn> {
  const routes = new Hono<SignedIn>();
  routes.get("/:id/log", async (context) => {
    const caller = context.get("caller");
    const runId = context.req.param("id");
    if ((await readRun(deps.db, caller, runId)) === undefined) noSuchRun(runId);
    await refuseRemoved(deps.db, runId);
    const after = readAfter(context.req.header("last-event-id"), context.req.query("after"));
    const follow = readFollow(context.req.query("follow"));
    const wantsEvents = /\btext\/event-stream\b/i.test(context.req.header("accept") ?? "");
    const format = wantsEvents ? eventStream : jsonLines;
    return liveReply(context, deps, {
      contentType: format.contentType,
      pieces: (signal) => logPieces({ caller, runId, after, follow, format }, deps, signal),
    });
  });
  return routes;
}

interface Reading {
  readonly caller: Caller;
  readonly runId: string;
  readonly after: number;
  readonly follow: boolean;
  readonly format: Format;
}

async function* logPieces(
  { caller, runId, after, follow, format }: Reading,
  { db, clock, logs, changes, runs }: LogDeps,
  signal: AbortSignal,
): AsyncGenerator<string, void> {
  const bell = new Bell();
  const stopListening = logs.listen(runId, bell.ring);
  // Of a run that nobody held, its row alone tells the end.
  const stopHearing = changes.listen(caller.orgId, (change) => {
    if (change.kind === "run" && change.runId === runId) bell.ring();
  });
  await using reader = logs.reader(runId);
  try {
    if (format.opening !== "") yield format.opening;
    while (!signal.aborted) {
      // Looked at before the file is read: what is written after it is announced.
      const isOpen = logs.isOpen(runId);
      const run = isOpen && follow ? undefined : await readRun(db, caller, runId);
      const isOver = !follow || (!isOpen && (run === undefined || run.stoppedAt !== undefined));
      const piece = await reader.next(after, logs.readable(runId));
      if (piece !== undefined) {
        yield piece.lines.map((line, index) => format.entry(piece.first + index, line)).join("");
      } else if (isOver) {
        if (run !== undefined) yield format.end(runs.asTold(run));
        return;
      } else if (!(await bell.wait(clock, silenceMilliseconds, signal)) && format.silence !== undefined) {
        yield format.silence;
      }
    }
  } finally {
    stopListening();
    stopHearing();
  }
}

/** Where to go on. A reader that comes back says so in its header, while its address is still the first one. */
function readAfter(lastEventId: string | undefined, after: string | undefined): number {
  if (lastEventId !== undefined && isSequence(lastEventId)) return Number(lastEventId);
  if (after === undefined) return 0;
  if (isSequence(after)) return Number(after);
  throw new PipelineError("invalid-request", "`after` should be the sequence number of a log entry.");
}

function readFollow(follow: string | undefined): boolean {
  if (follow === undefined || follow === "true") return true;
  if (follow === "false") return false;
  throw new PipelineError("invalid-request", "`follow` should be true or false.");
}

function isSequence(text: string): boolean {
  return /^\d{1,15}$/.test(text);
}
