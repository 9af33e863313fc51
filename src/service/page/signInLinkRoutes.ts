import { Hono } from "hono";
import type { SignInLink } from "../../contract/signInLink.ts";
import type { SignedIn } from "../http/authenticate.ts";
import { reply } from "../http/reply.ts";
import type { SignInLinks } from "./signInLinks.ts";

/** `POST /api/sign-in-links`: a link that opens the page signed in with the caller's key, once and within a minute. */
export function signInLinkRoutes(links: SignInLinks): Hono<SignedIn> {
  const routes = new Hono<SignedIn>();

  routes.post("/", (context) => {
    const { code, endsAt } = links.make(context.get("caller").keyId);
    const url = new URL("/app/sign-in", context.req.url);
    url.searchParams.set("code", code);
    const link: SignInLink = { url: url.href, expiresAt: new Date(endsAt).toISOString() };
    context.header("cache-control", "no-store");
    return reply(link, 201);
  });

  return routes;
}
