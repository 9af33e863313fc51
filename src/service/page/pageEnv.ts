import type { Context } from "hono";
import { holdsSecret } from "../apiSecret.ts";
import type { AppDeps } from "../http/appDeps.ts";
import type { SignedIn } from "../http/authenticate.ts";
import { bodyText } from "../http/requestInput.ts";
import type { Session } from "../store/sessions.ts";
import type { Assets } from "./assets.ts";
import type { SessionCookie } from "./session.ts";
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
