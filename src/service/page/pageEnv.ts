import type { AppDeps } from "../http/appDeps.ts";
import type { SignedIn } from "../http/authenticate.ts";
import type { Session } from "../store/sessions.ts";
import type { Assets } from "./assets.ts";
import type { SessionCookie } from "./sessionCookie.ts";
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
