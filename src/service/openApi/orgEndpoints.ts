import type { Endpoint } from "./endpoint.ts";

export const orgEndpoints: readonly Endpoint[] = [
  {
    method: "get",
    path: "/api/org",
    group: "org",
    summary: "The caller's org, its limits and today's use",
    access: "every role",
    reply: {
      status: 200,
      description: "The org; `actor` is the id of the key that asked.",
      content: { kind: "json", schema: "Org" },
      headers: ["RateLimit", "RateLimit-Policy"],
    },
  },
  {
    method: "get",
    path: "/api/events",
    group: "org",
    summary: "What changes in the org, as it changes",
    description:
      "Events `org` (data: an Org) and `run` (data: a Run). First the state as it is, then each change. A comment at least every 15 s. The stream ends when the key is revoked. `conflict` when the key follows too many events and logs already.",
    access: "every role",
    reply: {
      status: 200,
      description: "Server-sent events, without end.",
      content: { kind: "text", mediaTypes: ["text/event-stream"] },
    },
    errors: ["conflict"],
  },
];
