import { lookup } from "node:dns";
import type { LookupFunction } from "node:net";

/** As browsers do it: `app.localhost` is this machine, whatever the system's resolver knows (RFC 6761, 6.3). */
export const lookUp: LookupFunction = (hostname, options, callback) =>
  lookup(hostname.endsWith(".localhost") ? "localhost" : hostname, options, callback);
