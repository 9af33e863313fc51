import { createMiddleware } from "hono/factory";
import { findSession, isUseToNote, noteUse } from "../store/sessions.ts";
import { nextPath } from "./nextPath.ts";
import type { PageDeps, PageEnv } from "./pageEnv.ts";

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
