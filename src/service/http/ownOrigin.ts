import type { Context } from "hono";

/**
 * The origin under which a caller sees this service. A balancer with TLS says so in `X-Forwarded-Proto`; whoever else sends
 * that header misleads only themselves.
 */
export function ownOrigin(context: Context): string {
  const { host, protocol } = new URL(context.req.url);
  return context.req.header("x-forwarded-proto") === "https" ? `https://${host}` : `${protocol}//${host}`;
}
