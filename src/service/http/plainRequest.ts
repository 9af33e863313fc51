import type { IncomingMessage } from "node:http";
import { largestRequest } from "./guardRequest.ts";

/** A request for what is asked most that gives a guard nothing to look at twice. */
export interface PlainRequest {
  readonly method: "GET" | "POST";
  /** Its pattern, as the log has it. */
  readonly route: "/api/org" | "/api/runs";
  /** What `x-api-key` holds. */
  readonly key: string;
  readonly askedId: string | undefined;
  readonly "idempotency-key": string | undefined;
  readonly prefer: string | undefined;
}

/** What is looked at of a request. */
type Received = Pick<IncomingMessage, "method" | "url" | "rawHeaders"> & {
  readonly socket: Pick<IncomingMessage["socket"], "localPort">;
};

/** Headers that come once in a plain request, if at all. */
const once = new Set(["host", "x-api-key", "content-length", "x-request-id", "idempotency-key", "prefer"]);

/** Headers that only a browser sends, or that ask for more than an answer; whatever else there is changes nothing. */
const telling = new Set(["origin", "transfer-encoding", "expect", "upgrade", "content-encoding"]);

/**
 * Reads a request that the guards (`guard.ts`, `guardRequest.ts`, the limit on bodies) would let through without a word:
 * it was sent to this machine's own address and port, by no web page, with one key, and a body only where it is
 * for one, whose length is told. @returns undefined for any other.
 */
export function readPlain({ method, url, rawHeaders, socket }: Received): PlainRequest | undefined {
  const isOrg = method === "GET" && url === "/api/org";
  const isStart = method === "POST" && url === "/api/runs";
  if (!(isOrg || isStart) || rawHeaders.length / 2 > largestRequest.headers) return undefined;
  const found: Record<string, string> = {};
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]?.toLowerCase() ?? "";
    if (once.has(name)) {
      if (found[name] !== undefined) return undefined;
      found[name] = rawHeaders[at + 1] ?? "";
    } else if (telling.has(name) || name.startsWith("sec-fetch-")) return undefined;
  }
  const { host, "x-api-key": key, "content-length": length } = found;
  if (host !== `127.0.0.1:${socket.localPort}` && host !== `localhost:${socket.localPort}`) return undefined;
  if (key === undefined || (isOrg ? length !== undefined : !isBodyLength(length))) return undefined;
  return {
    method: isOrg ? "GET" : "POST",
    route: isOrg ? "/api/org" : "/api/runs",
    key,
    askedId: found["x-request-id"],
    "idempotency-key": found["idempotency-key"],
    prefer: found["prefer"],
  };
}

function isBodyLength(length: string | undefined): boolean {
  return length !== undefined && /^\d{1,6}$/.test(length) && Number(length) <= largestRequest.bodyBytes;
}
