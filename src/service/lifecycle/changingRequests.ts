import type { EventEmitter } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";

/** Counts the requests being answered now that may change something, also a start that is held. */
export class ChangingRequests {
  count = 0;

  /** @param server an HTTP server, watched as long as it lives. */
  constructor(server: Pick<EventEmitter, "on">) {
    server.on("request", ({ method }: IncomingMessage, response: ServerResponse) => {
      if (method === "GET" || method === "HEAD") return;
      this.count += 1;
      response.once("close", () => {
        this.count -= 1;
      });
    });
  }
}
