import { Hono } from "hono";
import { PipelineError } from "../../contract/errors.ts";
import type { AppDeps } from "../http/appDeps.ts";
import { artifactRoutes } from "../http/artifactRoutes.ts";
import { openAssets } from "./assets.ts";
import { errorResponse } from "./errorResponse.ts";
import { startPath } from "./nextPath.ts";
import type { PageDeps, PageEnv } from "./pageEnv.ts";
import { pageEvents } from "./pageEvents.ts";
import { pagePolicy } from "./pagePolicy.ts";
import { requireSameOrigin } from "./requireSameOrigin.ts";
import { requireSession } from "./requireSession.ts";
import { runPageRoutes } from "./runPageRoutes.ts";
import { sessionCookie } from "./sessionCookie.ts";
import type { SignInLinks } from "./signInLinks.ts";
import { signInRoutes } from "./signInRoutes.ts";

/** Everything under `/app`: the page for people in a browser, signed in by a cookie. */
export function pageRoutes(
  app: AppDeps & { readonly pageFolder: string },
  links: SignInLinks,
): Hono<PageEnv> {
  const assets = openAssets(app.pageFolder);
  const deps: PageDeps = { ...app, assets, cookie: sessionCookie(app.folder), links };
  const routes = new Hono<PageEnv>();
  routes.use(pagePolicy);
  routes.use(requireSameOrigin);
  routes.onError((error, context) => errorResponse(context, error, deps));

  routes.get("/", (context) => context.redirect(startPath, 303));
  routes.route("/assets", assets.routes);
  routes.route("/", signInRoutes(deps));

  const signedIn = new Hono<PageEnv>();
  signedIn.use(requireSession(deps));
  signedIn.get("/events", (context) => pageEvents(context, deps));
  signedIn.route("/runs", runPageRoutes(deps));
  signedIn.route("/runs", artifactRoutes(deps));
  signedIn.all("*", () => {
    throw new PipelineError("not-found", "There is no such page.", { next: "Look in the list of runs." });
  });
  routes.route("/", signedIn);
  return routes;
}
