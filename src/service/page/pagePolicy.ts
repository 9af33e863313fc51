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

/**
 * Gives the pages a policy under which they work. Whatever else is under `/app`, such as an artifact, keeps the one of
 * every reply, under which nothing may run.
 */
export const pagePolicy = createMiddleware(async (context, next) => {
  await next();
  const isPage = context.res.headers.get("content-type")?.startsWith("text/html") ?? false;
  if (isPage) context.header("content-security-policy", contentSecurityPolicy);
});
