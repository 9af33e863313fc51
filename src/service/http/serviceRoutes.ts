import { PipelineError } from "../../contract/errors.ts";
import type { HandOver } from "../lifecycle/handOver.ts";
import type { Endpoints } from "./endpoints.ts";
import { reply } from "./reply.ts";

/** What the routes need to know of how long this service lives. */
export interface Life {
  /** Told to the faces; undefined where the service runs from its sources. */
  readonly version: string | undefined;
  /** Whether the service is about to end, so that nobody who looks for one may take it. */
  readonly isEnding: () => boolean;
  readonly handOver: HandOver;
  /** Whether a key is the one of this machine's own faces. */
  readonly isOwnKey: (keyId: string) => boolean;
}

/** A face that is newer than this service asks it to leave for its own. */
export function handOverRoute(endpoints: Endpoints, { life }: { readonly life: Life }): void {
  endpoints.add(
    {
      method: "post",
      path: "/api/service/hand-over",
      group: "service",
      summary: "Asks this machine's service to leave for a newer one, once nothing is in work",
      description: "Takes no body. Any other key is `forbidden`. A service that a person started stays.",
      access: "this machine",
      reply: { description: "When it leaves.", json: "HandOverReply" },
    },
    (context) => {
      if (!life.isOwnKey(context.get("caller").keyId)) {
        throw new PipelineError("forbidden", "Only this machine's own faces can ask the service to leave.", {
          next: "End it where it was started.",
        });
      }
      return reply({ leaving: life.handOver.ask() });
    },
  );
}
