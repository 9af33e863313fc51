import * as z from "zod/mini";
import { waitSeconds } from "../../contract/limits.ts";
import { idempotencyKeySchema, runQuerySchema } from "../../contract/run.ts";
import { runStatuses } from "../../contract/runStatuses.ts";
import type { Endpoint } from "./endpoint.ts";

const runId = { id: "The run's id." };

export const runEndpoints: readonly Endpoint[] = [
  {
    method: "post",
    path: "/api/runs",
    group: "runs",
    summary: "Starts a run of a pipeline",
    description:
      "Refused with `too-many-runs` when another run holds the org's place (scope `org`) or the day's runs are used (scope `free-day`, which is told first). A refused start makes no run and uses none of the day's. Closing the connection of a held request gives up the turn.",
    access: "members",
    headers: [
      {
        name: "Prefer",
        description: `\`wait=<seconds>\` (RFC 7240) holds the request in line for a place, for at most ${waitSeconds} s; first come, first served. Without it the answer comes at once.`,
        schema: z.string(),
      },
      {
        name: "Idempotency-Key",
        description: "Names the wish. The same key again brings the run that it has started, and no other.",
        schema: idempotencyKeySchema,
      },
    ],
    body: "StartRequest",
    reply: {
      status: 201,
      description: "The run, or the one that this Idempotency-Key had started before.",
      content: { kind: "json", schema: "Run" },
      headers: ["Location", "RateLimit", "RateLimit-Policy"],
    },
    errors: ["not-found", "conflict", "too-many-runs"],
  },
  {
    method: "get",
    path: "/api/runs",
    group: "runs",
    summary: "The org's runs, newest first",
    access: "every role",
    query: runQuerySchema,
    reply: {
      status: 200,
      description: "A page of runs, without their steps; `next` is the `after` of the next page.",
      content: { kind: "json", schema: "RunList" },
    },
  },
  {
    method: "get",
    path: "/api/runs/{id}",
    group: "runs",
    summary: "A run with its steps",
    description: `The statuses are ${runStatuses.join(", ")}; a client shows any other as it is. The first two are in work: they hold the org's place.`,
    access: "every role",
    parts: runId,
    reply: { status: 200, description: "The run.", content: { kind: "json", schema: "Run" } },
    errors: ["not-found"],
  },
  {
    method: "post",
    path: "/api/runs/{id}/cancel",
    group: "runs",
    summary: "Cancels a run, whoever of the org has started it",
    description:
      "Takes no body. Answers at once; the place is given up when the run's processes are gone. Cancelling again, or after the end, is no error.",
    access: "members",
    parts: runId,
    reply: {
      status: 200,
      description: "The run's status now.",
      content: { kind: "json", schema: "CancelReply" },
    },
    errors: ["not-found"],
  },
  {
    method: "get",
    path: "/api/runs/{id}/log",
    group: "runs",
    summary: "A run's log so far, then live until the run has stopped",
    description:
      "As server-sent events: `log` (data: a LogEntry, id: its sequence number), at the end `end` (data: a CancelReply). As JSON lines: a LogEntry each. The reply ends when the run has stopped or the key is revoked; with `follow=false` when what is there now has been told, and `end` then says the status of the run at that time. `conflict` when the key follows too many events and logs already.",
    access: "every role",
    parts: runId,
    query: z.object({
      after: z.optional(z.int().check(z.nonnegative())),
      follow: z.optional(z.enum(["true", "false"])),
    }),
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
      status: 200,
      description: "The entries after that one, all of them without it.",
      content: { kind: "text", mediaTypes: ["application/x-ndjson", "text/event-stream"] },
    },
    errors: ["not-found", "conflict"],
  },
  {
    method: "get",
    path: "/api/runs/{id}/artifacts/{file}",
    group: "runs",
    summary: "Something that a step of a run kept, such as a screenshot",
    description: "The run lists what there is. What a browser can't safely show is sent as an attachment.",
    access: "every role",
    parts: { ...runId, file: "The artifact's `file`, as the run lists it." },
    reply: {
      status: 200,
      description: "Its bytes.",
      content: {
        kind: "bytes",
        mediaTypes: ["image/png", "image/jpeg", "application/json", "text/plain", "application/octet-stream"],
      },
    },
    errors: ["not-found"],
  },
];
