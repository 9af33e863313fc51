import type { AppDeps } from "../http/appDeps.ts";
import type { Endpoints } from "../http/endpoints.ts";
import { ownOrigin } from "../http/ownOrigin.ts";
import { reply } from "../http/reply.ts";
import { createSignInCode } from "../store/sessions.ts";

/** `POST /api/sign-in-links`: a link that signs a browser in with the caller's key, once and within a minute. */
export function signInLinkRoute(endpoints: Endpoints, { writer, clock }: AppDeps): void {
  endpoints.add(
    {
      method: "post",
      path: "/api/sign-in-links",
      group: "page",
      summary: "Makes a link that signs a browser in to the page with the caller's key",
      description: "Takes no body. The link can be used once, until `expires-at`.",
      access: "every role",
      reply: { status: 201, description: "The link.", json: "SignInLink" },
    },
    async (context) => {
      const { keyId } = context.get("caller");
      const { code, endsAt } = await writer.write((tx) => createSignInCode(tx, keyId, clock.now()));
      const url = new URL("/app/sign-in", ownOrigin(context));
      url.searchParams.set("code", code);
      return reply({ url: url.href, expiresAt: new Date(endsAt).toISOString() }, 201);
    },
  );
}
