import { createHash } from "node:crypto";
import type { Context } from "hono";
import { deleteCookie, getCookie, setCookie } from "hono/cookie";
import { createMiddleware } from "hono/factory";
import { holdsSecret } from "../apiSecret.ts";
import type { AppDeps } from "../http/appDeps.ts";
import type { SignedIn } from "../http/authenticate.ts";
import { bodyText } from "../http/requestInput.ts";
import { findSession, isUseToNote, noteUse, type Session } from "../store/sessions.ts";
import type { Assets } from "./assets.ts";
import type { SignInLinks } from "./signInLinks.ts";

/** What the page works with. */
export interface PageDeps extends AppDeps {
  readonly assets: Assets;
  readonly cookie: SessionCookie;
  readonly links: SignInLinks;
}

/** A request of the page. Behind {@link requireSession} it is as one that came with a key. */
export interface PageEnv extends SignedIn {
  Variables: SignedIn["Variables"] & { readonly session: Session };
}

/** Where someone goes who asked for nothing else. */
export const startPath = "/app/runs";

/** Where to go after signing in: a path of the page, whatever was asked for, and no key that was taken for one. */
export function nextPath(asked: string | undefined): string {
  const base = "http://page.invalid";
  if (asked === undefined || !asked.startsWith("/") || !URL.canParse(asked, base)) return startPath;
  const { origin, pathname, search } = new URL(asked, base);
  const path = `${pathname}${search}`;
  return origin === base && /^\/app\/runs(\/|$)/.test(pathname) && !hidesSecret(path) ? path : startPath;
}

function hidesSecret(path: string): boolean {
  try {
    return holdsSecret(decodeURIComponent(path));
  } catch {
    return holdsSecret(path);
  }
}

/** The texts of a posted form; a name that came twice counts once, the last time. */
export async function formTexts(context: Context): Promise<Readonly<Record<string, string | undefined>>> {
  const form = new URLSearchParams(await bodyText(context));
  return Object.fromEntries(form);
}

interface SessionCookie {
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
