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
    method: "get",
    path: "/openapi.json",
    group: "service",
    summary: "This document",
    access: "open",
    reply: { status: 200, description: "OpenAPI 3.1.", content: { kind: "any-json" } },
  },
];
