import { createHash } from "node:crypto";
import type { Context } from "hono";
import { deleteCookie, getCookie, setCookie } from "hono/cookie";

export interface SessionCookie {
  read(context: Context): string | undefined;
  /** Gone when the browser is closed; the service ends the session earlier when it is over. */
  keep(context: Context, id: string): void;
  forget(context: Context): void;
}

const path = "/app";

/**
 * The cookie that holds a session's id, out of reach of scripts and of other sites. Browsers show a cookie of 127.0.0.1
 * to every port, so its name tells this service's from another's; by the data folder, so that it outlasts a restart.
 *
 * Not `Secure`, since the service speaks plain HTTP on loopback, where not every browser would keep it.
 */
export function sessionCookie(dataFolder: string): SessionCookie {
  const name = `pipeline-runs-${createHash("sha256").update(dataFolder).digest("hex").slice(0, 16)}`;
  return {
    read: (context) => getCookie(context, name),
    keep: (context, id) => setCookie(context, name, id, { path, httpOnly: true, sameSite: "Strict" }),
    forget: (context) => void deleteCookie(context, name, { path }),
  };
}
