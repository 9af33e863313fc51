import { type Context, Hono } from "hono";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { findCaller } from "../store/keys.ts";
import { readOrg } from "../store/orgs.ts";
import { createSession, endSession, findKey, findSession } from "../store/sessions.ts";
import { formTexts } from "./formTexts.ts";
import { layout } from "./layout.ts";
import { nextPath } from "./nextPath.ts";
import type { PageDeps, PageEnv } from "./pageEnv.ts";
import { linkView, type SignInProblem, signInView } from "./signInView.ts";

/** Signing in by key or by one-time link, and out. */
export function signInRoutes({ db, writer, clock, assets, cookie, links, changes }: PageDeps): Hono<PageEnv> {
  const routes = new Hono<PageEnv>();

  const ask = async (
    context: Context<PageEnv>,
    next: string,
    problem: SignInProblem | undefined,
    status: ContentfulStatusCode,
  ) => {
    const main = signInView(next, problem);
    const now = clock.now();
    return context.html(await layout({ title: "Sign in", main, reader: undefined, now }, assets), status);
  };

  const sessionOf = async (context: Context<PageEnv>) => {
    const id = cookie.read(context);
    return id === undefined ? undefined : findSession(db, id, clock.now());
  };

  routes.get("/sign-in", async (context) => {
    const next = nextPath(context.req.query("next"));
    const code = context.req.query("code");
    if (code !== undefined) {
      const keyId = links.look(code);
      const caller = keyId === undefined ? undefined : await findKey(db, keyId);
      if (caller === undefined) return ask(context, next, "link over", 401);
      const { orgName } = await readOrg(db, caller, clock.now());
      const goesOn = context.req.header("sec-fetch-site") === "none";
      const main = linkView({ code, next, orgName, role: caller.role, goesOn });
      return context.html(
        await layout({ title: "Sign in", main, reader: undefined, now: clock.now() }, assets),
      );
    }
    if ((await sessionOf(context)) !== undefined) return context.redirect(next, 303);
    return ask(context, next, cookie.read(context) === undefined ? undefined : "session over", 200);
  });

  routes.post("/sign-in", async (context) => {
    const { key, code, next: asked } = await formTexts(context);
    const next = nextPath(asked);
    const keyId = code === undefined ? (await findCaller(db, (key ?? "").trim()))?.keyId : links.use(code);
    const id =
      keyId === undefined ? undefined : await writer.write((tx) => createSession(tx, keyId, clock.now()));
    if (id === undefined) {
      const problem =
        code === undefined ? (key === undefined || key === "" ? "no key" : "wrong key") : "link over";
      return ask(context, next, problem, 401);
    }
    const before = await sessionOf(context);
    if (before !== undefined) await writer.write((tx) => endSession(tx, before.hash));
    cookie.keep(context, id);
    return context.redirect(next, 303);
  });

  routes.post("/sign-out", async (context) => {
    const session = await sessionOf(context);
    if (session !== undefined) {
      await writer.write((tx) => endSession(tx, session.hash));
      // So that the session's streams look at once whether it still is.
      changes.tell(session.caller.orgId, { kind: "org" });
    }
    cookie.forget(context);
    return context.redirect("/app/sign-in", 303);
  });

  return routes;
}
