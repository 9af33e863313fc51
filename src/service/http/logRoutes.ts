import * as z from "zod/mini";
import type { ServedRun } from "../../contract/run.ts";
import { Bell } from "../../machine/clock.ts";
import type { LogReader } from "../runs/logStore.ts";
import type { Caller } from "../store/keys.ts";
import { readRunAlone } from "../store/runs.ts";
import type { AppDeps } from "./appDeps.ts";
import type { Endpoints } from "./endpoints.ts";
import { liveReply, silenceMilliseconds } from "./liveReply.ts";
import type { LiveType } from "./openReplies.ts";
import { requestQuery } from "./requestInput.ts";
import { refuseRemoved, requestedRun } from "./runRoutes.ts";

/** How a reply writes the entries and the run's end. */
interface Format {
  readonly contentType: LiveType;
  readonly opening?: string;
  readonly entry: (sequence: number, json: string) => string;
  readonly end?: (run: ServedRun) => string;
  readonly silence?: string;
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
  entry: (_, json) => `${json}\n`,
};

const logQuerySchema = z.object({
  after: z.optional(z.int().check(z.nonnegative())),
  follow: z.optional(z.enum(["true", "false"])),
});

/** A run's log so far, then live until the run has stopped (contract: "Endpoints"). */
export function logRoutes(endpoints: Endpoints, deps: AppDeps): void {
  endpoints.add(
    {
      method: "get",
      path: "/api/runs/{id}/log",
      summary: "A run's log so far, then live until the run has stopped",
      description:
        "As server-sent events: `log` (data: a LogEntry, id: its sequence number), at the end `end` (data: a CancelReply). As JSON lines: a LogEntry each. The reply ends when the run has stopped or the key is revoked; with `follow=false` when the entries of now have been sent, and `end` then has the status of the run at that time. `conflict` when the key follows too many events and logs already.",
      access: "every role",
      params: { id: "The run's id." },
      query: logQuerySchema,
      headers: [
        {
          name: "Accept",
          description: "`text/event-stream` for events; JSON lines otherwise.",
          schema: z.string(),
        },
        {
          name: "Last-Event-ID",
          description: "The sequence number that a reader had last; it counts before `after`.",
          schema: z.string(),
        },
      ],
      reply: {
        description: "The entries after that one, all of them without it.",
        text: ["application/x-ndjson", "text/event-stream"],
      },
      errors: ["not-found", "conflict"],
    },
    async (context, { caller, params: { id: runId } }) => {
      await requestedRun(deps.db, caller, runId);
      await refuseRemoved(deps.db, runId);
      const query = requestQuery(context, logQuerySchema, ["after"]);
      // A reader that reconnects sends what it has in this header; its URL is still that of its first request.
      const last = context.req.header("last-event-id") ?? "";
      const after = /^\d{1,15}$/.test(last) ? Number(last) : (query.after ?? 0);
      const follow = query.follow !== "false";
      const wantsEvents = /\btext\/event-stream\b/i.test(context.req.header("accept") ?? "");
      const format = wantsEvents ? eventStream : jsonLines;
      // Opened before the reply begins, so that a log out of reach can still be replied as an error.
      const reader = await deps.logs.reader(runId);
      return liveReply(context, deps, {
        contentType: format.contentType,
        pieces: (signal) => logPieces({ caller, runId, reader, after, follow, format }, deps, signal),
      });
    },
  );
}

interface LogRequest {
  readonly caller: Caller;
  readonly runId: string;
  readonly reader: LogReader;
  readonly after: number;
  readonly follow: boolean;
  readonly format: Format;
}

async function* logPieces(
  { caller, runId, reader: opened, after, follow, format }: LogRequest,
  { db, clock, logs, bus }: AppDeps,
  signal: AbortSignal,
): AsyncGenerator<string, void> {
  const bell = new Bell();
  const stopListening = logs.subscribe(runId, bell.ring);
  // The end of a recovered run is only in its row.
  const unsubscribe = bus.subscribe(caller.orgId, (change) => {
    if (change.kind === "run" && change.runId === runId) bell.ring();
  });
  await using reader = opened;
  try {
    if (format.opening !== undefined) yield format.opening;
    while (!signal.aborted) {
      // Read before the file: what is written later rings the bell.
      const isOpen = logs.isOpen(runId);
      const run = isOpen && follow ? undefined : await readRunAlone(db, caller, runId);
      const isLast = !follow || (!isOpen && (run === undefined || run.stoppedAt !== undefined));
      const piece = await reader.next(after);
      if (piece !== undefined) {
        yield piece.lines.map((line, index) => format.entry(piece.first + index, line)).join("");
      } else if (isLast) {
        if (run !== undefined && format.end !== undefined) yield format.end(run);
        return;
      } else if (!(await bell.wait(clock, silenceMilliseconds, signal)) && format.silence !== undefined) {
        yield format.silence;
      }
    }
  } finally {
    stopListening();
    unsubscribe();
  }
}
