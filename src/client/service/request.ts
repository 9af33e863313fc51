import { PipelineError } from "../../contract/errors.ts";
import type { Clock } from "../../machine/clock.ts";

/** Where a service is, its key, and what requests to it need. */
export interface Service {
  /** Ends with a slash, as `parseBaseUrl` gives it. */
  readonly baseUrl: URL;
  readonly apiKey: string;
  readonly fetch: Fetch;
  readonly clock: Clock;
  /** Replaces a key that the service has refused with its current one. @returns whether that is a different key. */
  readonly renewKey?: (refused: string, signal: AbortSignal) => Promise<boolean>;
  /** What to do if the service refuses the key; by default the error's own next step. */
  readonly refusedKeyNext?: string | undefined;
  /** What to do about an untrusted certificate; NODE_EXTRA_CA_CERTS by default. */
  readonly trustNext?: string | undefined;
}

/** One request. `path` is relative to the base URL, its parts already encoded (see `segment`). */
export interface ServiceCall {
  readonly method: "GET" | "POST" | "PUT";
  readonly path: string;
  readonly query?: URLSearchParams;
  /** A JSON value with names as on the wire. */
  readonly body?: unknown;
  /** The bytes of a file, instead of `body`. */
  readonly content?: Uint8Array<ArrayBuffer>;
  readonly headers?: Readonly<Record<string, string>>;
  /** `open` endpoints get no key (contract: "Endpoints", last row). */
  readonly access?: "key" | "open";
  /** The time limit of the whole reply; 10 s by default. */
  readonly timeoutSeconds?: number;
  /** Whether it may be sent again if no reply came; by default a GET or PUT may, a POST may not. */
  readonly repeatable?: boolean;
  /** Called when the status has arrived, before the body. */
  readonly onAnswering?: (() => void) | undefined;
}

/** The request's name in messages, without its query, which may be private. */
export function labelOf(call: ServiceCall): string {
  return `${call.method} /${call.path}`;
}

/**
 * Encodes an id or a name as one segment of a path.
 * @throws PipelineError `invalid-request` for a text that can't be one segment and would name another endpoint.
 */
export function segment(what: string, text: string): string {
  if (text === "" || text === "." || text === ".." || !text.isWellFormed()) {
    throw new PipelineError("invalid-request", `"${text}" can't be the ${what}.`);
  }
  return encodeURIComponent(text);
}

/** The part of the web's `fetch` that clients use. The editor's, undici's and `loopbackFetch` all fit. */
export type Fetch = (url: URL, request: OutgoingRequest) => Promise<FetchResponse>;

interface OutgoingRequest {
  readonly method: string;
  /** By lower-case name. */
  readonly headers: Record<string, string>;
  readonly body?: string | Uint8Array<ArrayBuffer>;
  readonly redirect: "manual";
  readonly cache: "no-store";
  /** Its abort rejects the request and the reading of the body with its reason, and closes the connection. */
  readonly signal: AbortSignal;
}

/** A response with its body unread. */
export interface FetchResponse {
  readonly status: number;
  /** `opaqueredirect` if a redirect's address is withheld. */
  readonly type?: string;
  readonly headers: ResponseHeaders;
  readonly body: AsyncIterable<Uint8Array> | null;
}

export interface ResponseHeaders {
  /** A header's value, whatever the case of its name; several values are joined by commas. */
  get(name: string): string | null;
}

/**
 * Parses a service's address as a person types it. A path is kept (`https://host/path`), and the result ends with a slash, so
 * that endpoints resolve below it.
 *
 * @throws PipelineError `invalid-request` if it can't be a base URL or would send the key in clear text.
 */
export function parseBaseUrl(text: string): URL {
  if (!URL.canParse(text.trim())) {
    throw refused("The base URL is not a URL.", "Write it in full, like https://pipelines.example.com.");
  }
  const url = new URL(text.trim());
  if (url.protocol !== "https:" && url.protocol !== "http:") {
    // The scheme isn't repeated: it may be the key, as in `<key>:@<host>`.
    throw refused(
      "The base URL begins with neither https: nor http:.",
      "Write it in full, like https://pipelines.example.com.",
    );
  }
  if (url.username !== "" || url.password !== "") {
    throw refused(
      "The base URL holds a user name or a password.",
      "Take it out; the API key is kept elsewhere.",
    );
  }
  if (url.search !== "" || url.hash !== "") {
    throw refused("The base URL has a part after `?` or `#`.", "Leave that part out.");
  }
  if (url.protocol === "http:" && !isLoopback(url)) {
    throw refused(
      `The base URL is http, which would send the API key to ${url.host} in clear text.`,
      "Use https; http is only for this machine's own addresses.",
    );
  }
  if (!url.pathname.endsWith("/")) url.pathname += "/";
  return url;
}

/** Whether the address is a loopback one, so that nothing leaves the machine. */
export function isLoopback(url: URL): boolean {
  return url.hostname === "localhost" || url.hostname === "[::1]" || /^127(\.\d+){3}$/.test(url.hostname);
}

function refused(message: string, next: string): PipelineError {
  return new PipelineError("invalid-request", message, { next });
}
