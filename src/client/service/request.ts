import type { Clock } from "../../contract/clock.ts";
import { PipelineError } from "../../contract/errors.ts";

/** A service as its client knows it: where it is, the key for it, and what is needed to ask. */
export interface Service {
  /** Ends with a slash, as `parseBaseUrl` gives it. */
  readonly baseUrl: URL;
  readonly apiKey: string;
  readonly fetch: Fetch;
  readonly clock: Clock;
  /** How this person sets another key when the service refuses this one; the error's own words when left out. */
  readonly refusedKeyNext?: string | undefined;
  /** What makes a certificate trusted that isn't; the environment's way when left out. */
  readonly trustNext?: string | undefined;
}

/** One request. `path` is relative to the base URL, and its parts are already safe (see `segment`). */
export interface ServiceCall {
  readonly method: "GET" | "POST" | "PUT";
  readonly path: string;
  readonly query?: URLSearchParams;
  /** A JSON value of the wire. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** `open` endpoints are asked without the key (contract: "Endpoints", the last rows). */
  readonly access?: "key" | "open";
  /** How long the whole answer may take; ten seconds when left out. */
  readonly timeoutSeconds?: number;
  /** Whether it may be sent again when no answer came; left out, a GET and a PUT may, and a POST may not. */
  readonly repeatable?: boolean;
  /** Called when the answer begins to arrive: its status is there, its body not yet. */
  readonly onAnswering?: (() => void) | undefined;
}

/** The request as a person would name it, without what may be private in its query. */
export function labelOf(call: ServiceCall): string {
  return `${call.method} /${call.path}`;
}

/**
 * An id or a name as one segment of a path.
 * @throws PipelineError `invalid-request` for a text that a URL can't carry as one segment: it would name another endpoint.
 */
export function segment(what: string, text: string): string {
  if (text === "" || text === "." || text === ".." || !text.isWellFormed()) {
    throw new PipelineError("invalid-request", `"${text}" can't be the ${what}.`);
  }
  return encodeURIComponent(text);
}

/**
 * How a client sends a request: the part of the web's `fetch` that it needs. The editor's, undici's and
 * `loopbackFetch` are of this type.
 */
export type Fetch = (url: URL, request: OutgoingRequest) => Promise<FetchResponse>;

interface OutgoingRequest {
  readonly method: string;
  /** Their names in small letters. */
  readonly headers: Record<string, string>;
  readonly body?: string;
  readonly redirect: "manual";
  readonly cache: "no-store";
  /** Its abort rejects with its reason, also the reading of a body, and closes the connection. */
  readonly signal: AbortSignal;
}

/** An answer whose body is yet to be read. */
export interface FetchResponse {
  readonly status: number;
  /** `opaqueredirect` where the address of a redirect is kept back. */
  readonly type?: string;
  readonly headers: ResponseHeaders;
  readonly body: AsyncIterable<Uint8Array> | null;
}

export interface ResponseHeaders {
  /** The value of a header, of any case; those of the same name are joined by commas. */
  get(name: string): string | null;
}
