import { PipelineError } from "../../contract/errors.ts";
import type { Endpoints } from "../../service/http/endpoints.ts";
import { reply, unavailable } from "../../service/http/reply.ts";

export interface OperationRouteDeps {
  /** Rejects while the database is away, or this server doesn't hear the others. */
  readonly checkDatabase: () => Promise<void>;
  readonly metrics: () => Promise<string>;
  readonly stopping: AbortSignal;
}

/** What operators of a service for many machines ask: whether it can answer, and its metrics. */
export function operationRoutes(endpoints: Endpoints, deps: OperationRouteDeps): void {
  endpoints.add(
    {
      method: "get",
      path: "/readyz",
      summary: "Says whether this server can answer from its database",
      access: "open",
      reply: { description: "It can.", json: "Health" },
    },
    async () => {
      if (deps.stopping.aborted) throw unavailable("This server is about to end.");
      await deps.checkDatabase().catch(() => {
        throw unavailable("The database is out of reach, or tells nothing of other servers.");
      });
      return reply({ ok: true });
    },
  );
  endpoints.add(
    {
      method: "get",
      path: "/metrics",
      summary: "Counts and durations as Prometheus text; answered on loopback only",
      access: "open",
      reply: { description: "The metrics.", text: ["text/plain"] },
    },
    async (context) => {
      const { remoteAddress = "" } = context.env.incoming.socket;
      // A balancer on this machine asks on behalf of others.
      const isForwarded = ["forwarded", "x-forwarded-for"].some(
        (name) => context.req.header(name) !== undefined,
      );
      if (isForwarded || !/^(127\.|::1$|::ffff:127\.)/.test(remoteAddress)) {
        throw new PipelineError("forbidden", "Metrics are shown on the server's own machine only.", {
          next: "Ask on 127.0.0.1, where an agent of your monitoring runs.",
        });
      }
      return new Response(await deps.metrics(), {
        headers: { "content-type": "text/plain; version=0.0.4; charset=utf-8" },
      });
    },
  );
}
