import { type Context, Hono } from "hono";
import { html } from "hono/html";
import type { AppDeps } from "../http/appDeps.ts";
import type { SignedIn } from "../http/authenticate.ts";
import type { Endpoints } from "../http/endpoints.ts";
import { reply } from "../http/reply.ts";
import { findCaller } from "../store/keys.ts";
import { readOrg } from "../store/orgs.ts";
import {
  createSession,
  createSignInCode,
  endSession,
  findKey,
  findSession,
  findSignInCode,
  useSignInCode,
} from "../store/sessions.ts";
import { type Html, layout, marked } from "./layout.ts";
import { formTexts, nextPath, ownOrigin, type PageDeps } from "./pageRequest.ts";

/** Signs in by key or one-time link, and signs out. */
export function signInRoutes({ db, writer, clock, assets, cookie, bus }: PageDeps): Hono<SignedIn> {
  const routes = new Hono<SignedIn>();

  const show = async (context: Context<SignedIn>, main: Html, status: 200 | 401) =>
    context.html(
      await layout({ title: "Sign in", main, reader: undefined, now: clock.now() }, assets),
      status,
    );

  const sessionOf = async (context: Context<SignedIn>) => {
    const id = cookie.read(context);
    return id === undefined ? undefined : findSession(db, id, clock.now());
  };

  routes.get("/sign-in", async (context) => {
    const next = nextPath(context.req.query("next"));
    const code = context.req.query("code");
    if (code !== undefined) {
      const keyId = await findSignInCode(db, code, clock.now());
      const caller = keyId === undefined ? undefined : await findKey(db, keyId);
      if (caller === undefined) return show(context, signInView(next, "link over"), 401);
      const { orgName } = await readOrg(db, caller, clock.now());
      // `same-site` is another port of this machine, such as that of an editor in the browser.
      const goesOn = ["none", "same-site"].includes(context.req.header("sec-fetch-site") ?? "");
      return show(context, linkView({ code, next, orgName, role: caller.role, goesOn }), 200);
    }
    if ((await sessionOf(context)) !== undefined) return context.redirect(next, 303);
    const problem = cookie.read(context) === undefined ? undefined : "session over";
    return show(context, signInView(next, problem), 200);
  });

  routes.post("/sign-in", async (context) => {
    const { key, code, next: asked } = await formTexts(context);
    const next = nextPath(asked);
    const now = clock.now();
    const given = code === undefined ? await findCaller(db, (key ?? "").trim()) : undefined;
    // A runner's key opens no page.
    const ofKey = given?.role === "runner" ? undefined : given?.keyId;
    const id = await writer.write(async (tx) => {
      const keyId = code === undefined ? ofKey : await useSignInCode(tx, code, now);
      return keyId === undefined ? undefined : createSession(tx, keyId, now);
    });
    if (id === undefined)
      return show(context, signInView(next, code === undefined ? "wrong key" : "link over"), 401);
    const before = await sessionOf(context);
    if (before !== undefined) await writer.write((tx) => endSession(tx, before.hash));
    cookie.keep(context, id);
    return context.redirect(next, 303);
  });

  routes.post("/sign-out", async (context) => {
    const session = await sessionOf(context);
    if (session !== undefined) {
      await writer.write((tx) => endSession(tx, session.hash));
      // Makes the session's streams check it at once.
      bus.emit(session.caller.orgId, { kind: "org" });
    }
    cookie.forget(context);
    return context.redirect("/app/sign-in", 303);
  });

  return routes;
}

/** Why the sign-in page is shown again. */
type SignInProblem = "wrong key" | "link over" | "session over";

const problemTexts: Readonly<Record<SignInProblem, string>> = {
  "wrong key": "This key is not one of this service's, or it was revoked.",
  "link over": "This link was used already, or its minute is over. Make a new one with `pipeline page`.",
  "session over": "You were signed out. Sign in again.",
};

/** The form for an API key. It never contains a key that was sent. */
function signInView(next: string, problem: SignInProblem | undefined): Html {
  const isOfKey = problem === "wrong key";
  return html`<div class="sign-in">
<h1>Sign in</h1>
${problem === undefined || isOfKey ? "" : html`<p class="notice" role="alert">${marked(problemTexts[problem])}</p>`}
<form method="post" action="/app/sign-in">
<input type="hidden" name="next" value="${next}">
<label for="key">API key</label>
<input id="key" name="key" type="password" autocomplete="off" spellcheck="false" autocapitalize="none" required autofocus
aria-describedby="${isOfKey ? "key-problem key-help" : "key-help"}"${isOfKey ? html` aria-invalid="true"` : ""}>
${isOfKey ? html`<p class="problem" id="key-problem" role="alert">${problemTexts[problem]}</p>` : ""}
<p class="quiet" id="key-help">It is exchanged for a session of this browser and is not kept in the page.</p>
<button class="main">Sign in</button>
</form>
<h2>On this machine</h2>
<p>You need no key: <code>pipeline page</code> in a terminal prints a link that signs you in.</p>
</div>`;
}

/** The page of a one-time link. Only its button consumes the link, so a browser may preload the page. */
function linkView(link: {
  readonly code: string;
  readonly next: string;
  readonly orgName: string;
  readonly role: string;
  /** Whether the script may submit the form: not when another site linked here. */
  readonly goesOn: boolean;
}): Html {
  return html`<div class="sign-in">
<h1>Sign in</h1>
<form method="post" action="/app/sign-in"${link.goesOn ? html` data-goes-on` : ""}>
<input type="hidden" name="code" value="${link.code}">
<input type="hidden" name="next" value="${link.next}">
<p>To <b><bdi>${link.orgName}</bdi></b>, as ${link.role}.</p>
<button class="main" autofocus>Sign in</button>
</form>
</div>`;
}

/** `POST /api/sign-in-links`: a link that signs a browser in with the caller's key, once and within a minute. */
export function signInLinkRoute(endpoints: Endpoints, { writer, clock }: AppDeps): void {
  endpoints.add(
    {
      method: "post",
      path: "/api/sign-in-links",
      summary: "Makes a link that signs a browser in to the page with the caller's key",
      description: "Takes no body. The link can be used once, until `expires-at`.",
      access: "every role",
      reply: { status: 201, description: "The link.", json: "SignInLink" },
    },
    async (context, { caller: { keyId } }) => {
      const { code, endsAt } = await writer.write((tx) => createSignInCode(tx, keyId, clock.now()));
      const url = new URL("/app/sign-in", ownOrigin(context));
      url.searchParams.set("code", code);
      return reply({ url: url.href, expiresAt: new Date(endsAt).toISOString() }, 201);
    },
  );
}
