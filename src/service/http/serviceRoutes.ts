import type { AppDeps } from "./appDeps.ts";
import type { Endpoints } from "./endpoints.ts";
import { HttpProblem, reply } from "./reply.ts";

/** Whether the service lives, what it can do, and how it ends. */
export function serviceRoutes(endpoints: Endpoints, deps: AppDeps): void {
  endpoints.add(
    {
      method: "get",
      path: "/healthz",
      summary: "Says that the service lives, and which start of it this is",
      access: "open",
      reply: { description: "It lives.", json: "Health" },
    },
    () => {
      const { instance, version, stopping } = deps;
      if (stopping.aborted) {
        throw new HttpProblem(503, "internal", {
          message: "This service is about to end.",
          next: "Look for the one that comes after it.",
        });
      }
      return reply({ ok: true, instance, version, inputs: true });
    },
  );
  endpoints.add(
    {
      method: "get",
      path: "/openapi.json",
      summary: "This document",
      access: "open",
      reply: { description: "OpenAPI 3.1.", json: "OpenApi" },
    },
    async (context) => {
      const { openApiDocument } = await import("./openApiDocument.ts");
      return context.json(openApiDocument(endpoints.all));
    },
  );
  const { machine } = deps;
  if (machine === undefined) return;
  endpoints.add(
    {
      method: "post",
      path: "/api/service/hand-over",
      summary: "Asks this machine's service to leave for a newer one, once no run is active",
      description: "Takes no body. Any other key is `forbidden`. A service that a person started stays.",
      access: "this machine",
      reply: { description: "When it leaves.", json: "HandOverReply" },
    },
    () => reply({ leaving: machine.handOver() }),
  );
  endpoints.add(
    {
      method: "get",
      path: "/api/service",
      summary: "What this machine's service does now, in all orgs",
      description: "Any other key is `forbidden`.",
      access: "this machine",
      reply: {
        description: "Since when it runs, its active runs, and how many start requests wait.",
        json: "ServiceState",
      },
    },
    async () => reply(await machine.state()),
  );
  endpoints.add(
    {
      method: "post",
      path: "/api/service/stop",
      summary:
        "Ends this machine's service: its active runs are cancelled, and waiting start requests turned away",
      description: "Takes no body. Any other key is `forbidden`. It is answered once the runs have ended.",
      access: "this machine",
      reply: { description: "What was active and waited, and so was ended.", json: "ServiceState" },
    },
    async () => reply(await machine.stop()),
  );
}
