import * as z from "zod/mini";

/** The reply of `POST /api/sign-in-links`: an address that signs a browser in to the page once, until `expires-at`. */
export const signInLinkSchema = z.object({
  url: z.url({ protocol: /^https?$/ }),
  expiresAt: z.iso.datetime({ offset: true, error: "expected an RFC 3339 time" }),
});

export type SignInLink = z.infer<typeof signInLinkSchema>;
