import type { Endpoint } from "./endpoint.ts";

export const serviceEndpoints: readonly Endpoint[] = [
  {
    method: "get",
    path: "/healthz",
    group: "service",
    summary: "Says that the service lives, and which start of it this is",
    access: "open",
    reply: { status: 200, description: "It lives.", content: { kind: "json", schema: "Health" } },
  },
  {
    method: "post",
    path: "/api/service/hand-over",
    group: "service",
    summary: "Asks this machine's service to leave for a newer one, once nothing is in work",
    description:
      "Takes no body. For this machine's own key only: any other is `forbidden`. A service that a person started stays.",
    access: "owners",
    reply: {
      status: 200,
      description: "When it leaves.",
      content: { kind: "json", schema: "HandOverReply" },
    },
  },
  {
    method: "get",
    path: "/openapi.json",
    group: "service",
    summary: "This document",
    access: "open",
    reply: { status: 200, description: "OpenAPI 3.1.", content: { kind: "any-json" } },
  },
];
