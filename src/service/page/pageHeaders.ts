import { createMiddleware } from "hono/factory";

/** Nothing inline, nothing from elsewhere, in nobody's frame. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join("; ");

/** What every reply of the page carries. One that says more of itself, such as an artifact, keeps what it says. */
export const pageHeaders = createMiddleware(async (context, next) => {
  await next();
  const headers: Readonly<Record<string, string>> = {
    "content-security-policy": contentSecurityPolicy,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    // Not `no-referrer`: a form's POST would then come with the origin `null`.
    "referrer-policy": "same-origin",
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
  };
  for (const [name, value] of Object.entries(headers)) {
    if (!context.res.headers.has(name)) context.header(name, value);
  }
});
