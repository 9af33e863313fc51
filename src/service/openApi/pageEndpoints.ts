import type { Endpoint } from "./endpoint.ts";

/** What is there for the page, beside the page itself. */
export const pageEndpoints: readonly Endpoint[] = [
  {
    method: "post",
    path: "/api/sign-in-links",
    group: "page",
    summary: "Makes a link that signs a browser in to the page with the caller's key",
    description: "Takes no body. The link can be used once, until `expires-at`.",
    access: "every role",
    reply: {
      status: 201,
      description: "The link.",
      content: { kind: "json", schema: "SignInLink" },
    },
  },
];
