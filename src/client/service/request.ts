import { PipelineError } from "../../contract/errors.ts";
import type { Clock } from "../../machine/clock.ts";

/** Where a service is, its key, and what requests to it need. */
export interface Service {
  /** Ends with a slash, as `parseBaseUrl` gives it. */
  readonly baseUrl: URL;
  readonly apiKey: string;
  readonly fetch: Fetch;
  readonly clock: Clock;
  /** Takes up the key of now, once the service has refused one. @returns whether it is another. */
  readonly renewKey?: (refused: string, signal: AbortSignal) => Promise<boolean>;
  /** What to do when the service refuses the key; the error's own next step when left out. */
  readonly refusedKeyNext?: string | undefined;
  /** What to do about an untrusted certificate; NODE_EXTRA_CA_CERTS when left out. */
  readonly trustNext?: string | undefined;
}

/** One request. `path` is relative to the base URL, its parts already encoded (see `segment`). */
export interface ServiceCall {
  readonly method: "GET" | "POST" | "PUT";
  readonly path: string;
  readonly query?: URLSearchParams;
  /** A JSON value of the wire. */
  readonly body?: unknown;
  /** Instead of `body`: a file. */
  readonly content?: Uint8Array<ArrayBuffer>;
  readonly headers?: Readonly<Record<string, string>>;
  /** `open` endpoints get no key (contract: "Endpoints", last row). */
  readonly access?: "key" | "open";
  /** The time limit of the whole reply; 10 s when left out. */
  readonly timeoutSeconds?: number;
  /** Whether it may be sent again without a reply; by default a GET and a PUT may, and a POST may not. */
  readonly repeatable?: boolean;
  /** Called when the status has arrived, and the body not yet. */
  readonly onAnswering?: (() => void) | undefined;
}

/** The request's name in messages, without its query, which may be private. */
export function labelOf(call: ServiceCall): string {
  return `${call.method} /${call.path}`;
}

/**
 * An id or a name as one segment of a path.
 * @throws PipelineError `invalid-request` for a text that can't be one segment and would name another endpoint.
 */
export function segment(what: string, text: string): string {
  if (text === "" || text === "." || text === ".." || !text.isWellFormed()) {
    throw new PipelineError("invalid-request", `"${text}" can't be the ${what}.`);
  }
  return encodeURIComponent(text);
}

/**
 * The part of the web's `fetch` that clients use. The editor's, undici's and `loopbackFetch` fit it.
 */
export type Fetch = (url: URL, request: OutgoingRequest) => Promise<FetchResponse>;

interface OutgoingRequest {
  readonly method: string;
  /** By lower-case names. */
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
  /** `opaqueredirect` where a redirect's address is withheld. */
  readonly type?: string;
  readonly headers: ResponseHeaders;
  readonly body: AsyncIterable<Uint8Array> | null;
}

export interface ResponseHeaders {
  /** A header's value, its name in any case; several values are joined by commas. */
  get(name: string): string | null;
}
