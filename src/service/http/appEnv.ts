import type { HttpBindings } from "@hono/node-server";
import type { OpenReply } from "./openReplies.ts";

/** What every route's context has. */
export interface AppEnv {
  Bindings: HttpBindings;
  Variables: {
    /** Names this request in the log and to its caller. */
    readonly requestId: string;
    readonly open: OpenReply;
  };
}
