import { hash } from "node:crypto";
import type { Context } from "hono";
import { deleteCookie, getCookie, setCookie } from "hono/cookie";
import { createMiddleware } from "hono/factory";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { holdsSecret } from "../../machine/apiSecret.ts";
import type { AppDeps } from "../http/appDeps.ts";
import type { SignedIn } from "../http/authenticate.ts";
import { bodyText } from "../http/requestInput.ts";
import { readOrg } from "../store/orgs.ts";
import { findSession, writeUse } from "../store/sessions.ts";
import type { Assets } from "./assets.ts";
import { layout, type PageParts } from "./layout.ts";

export interface PageDeps extends AppDeps {
  readonly assets: Assets;
  readonly cookie: SessionCookie;
}

/** The page after signing in, unless another was asked for. */
export const startPath = "/app/runs";

/** Where to go after signing in. Anything but a path of the page, or a path that contains an API key, is ignored. */
export function nextPath(asked: string | undefined): string {
  const base = "http://page.invalid";
  if (asked === undefined || !asked.startsWith("/") || !URL.canParse(asked, base)) return startPath;
  const { origin, pathname, search } = new URL(asked, base);
  const path = `${pathname}${search}`;
  return origin === base && /^\/app\/(runs|pipelines)(\/|$)/.test(pathname) && !hidesSecret(path)
    ? path
    : startPath;
}

function hidesSecret(path: string): boolean {
  try {
    return holdsSecret(decodeURIComponent(path));
  } catch {
    return holdsSecret(path);
  }
}

/** Answers with a page for the person who is signed in. */
export async function showPage(
  context: Context<SignedIn>,
  parts: Omit<PageParts, "reader">,
  { db, assets }: Pick<PageDeps, "db" | "assets">,
  status: ContentfulStatusCode = 200,
): Promise<Response> {
  const caller = context.get("caller");
  const reader = { org: await readOrg(db, caller, parts.now), role: caller.role };
  return context.html(await layout({ ...parts, reader }, assets), status);
}

/** The fields of a posted form; of a repeated name the last value. @param most bytes; 64 KiB when left out. */
export async function formTexts(
  context: Context,
  most?: number,
): Promise<Readonly<Record<string, string | undefined>>> {
  const form = new URLSearchParams(await bodyText(context, most));
  return Object.fromEntries(form);
}

interface SessionCookie {
  read(context: Context): string | undefined;
  /** The browser drops the cookie when it is closed; the service may end the session before that. */
  keep(context: Context, id: string): void;
  forget(context: Context): void;
}

const path = "/app";

/**
 * The cookie with a session's id. Browsers send a cookie of 127.0.0.1 to every port, so its name is derived from the
 * service's data: other services have another name, and a restart keeps it.
 *
 * `Secure` only behind TLS: on loopback, over plain HTTP, not every browser stores a secure cookie.
 */
export function sessionCookie(dataName: string): SessionCookie {
  const name = `pipeline-runs-${hash("sha256", dataName).slice(0, 16)}`;
  return {
    read: (context) => getCookie(context, name),
    keep: (context, id) =>
      setCookie(context, name, id, {
        path,
        httpOnly: true,
        sameSite: "Strict",
        secure: ownOrigin(context).startsWith("https:"),
      }),
    forget: (context) => void deleteCookie(context, name, { path }),
  };
}

/**
 * Requires a session, which gives a request of the page a caller, as an API key does one of the API. A browser without one is
 * redirected to sign in, and returns afterwards.
 */
export function requireSession({ db, writer, clock, cookie, log }: PageDeps) {
  return createMiddleware<SignedIn>(async (context, next) => {
    const id = cookie.read(context);
    const session = id === undefined ? undefined : await findSession(db, id, clock.now());
    if (session === undefined) {
      // An event stream can't follow a redirect to a page; the page itself can.
      if (context.req.header("accept") === "text/event-stream") return context.text("Sign in again.", 401);
      const { pathname, search } = new URL(context.req.url);
      const asked = context.req.method === "GET" ? nextPath(`${pathname}${search}`) : nextPath(undefined);
      return context.redirect(`/app/sign-in?next=${encodeURIComponent(asked)}`, 303);
    }
    const now = clock.now();
    // Not fatal: reading has to work with a full disk.
    await writeUse(writer, session, now).catch((error: unknown) =>
      log("error", "use of a session not noted", { error }),
    );
    context.set("caller", session.caller);
    context.get("open").keyId = session.caller.keyId;
    return next();
  });
}

/**
 * The origin under which a caller sees this service. A load balancer that terminates TLS says so in `X-Forwarded-Proto`; any
 * other caller that sends this header misleads only itself.
 */
export function ownOrigin(context: Context): string {
  const { host, protocol } = new URL(context.req.url);
  return context.req.header("x-forwarded-proto") === "https" ? `https://${host}` : `${protocol}//${host}`;
}
