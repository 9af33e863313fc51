import { createHash } from "node:crypto";
import type { Context } from "hono";
import { deleteCookie, getCookie, setCookie } from "hono/cookie";
import { createMiddleware } from "hono/factory";
import { findSession, isUseToNote, noteUse } from "../store/sessions.ts";
import { nextPath, type PageDeps, type PageEnv } from "./pageEnv.ts";

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

/** Lets a signed-in browser in; any other is sent to sign in, and comes back afterwards. */
export function requireSession({
  db,
  writer,
  clock,
  cookie,
  log,
}: Pick<PageDeps, "db" | "writer" | "clock" | "cookie" | "log">) {
  return createMiddleware<PageEnv>(async (context, next) => {
    const id = cookie.read(context);
    const session = id === undefined ? undefined : await findSession(db, id, clock.now());
    if (session === undefined) {
      // A stream can't go anywhere; its page can, and asks again itself.
      if (context.req.header("accept") === "text/event-stream") return context.text("Sign in again.", 401);
      const { pathname, search } = new URL(context.req.url);
      const asked = context.req.method === "GET" ? nextPath(`${pathname}${search}`) : nextPath(undefined);
      return context.redirect(`/app/sign-in?next=${encodeURIComponent(asked)}`, 303);
    }
    const now = clock.now();
    if (isUseToNote(session, now)) {
      // A disk that is full must not keep anyone from looking.
      await writer
        .write((tx) => noteUse(tx, session, now))
        .catch((error: unknown) => log("error", "use of a session not noted", { error }));
    }
    context.set("session", session);
    context.set("caller", session.caller);
    context.get("open").signedIn(session.caller.keyId);
    return next();
  });
}
