/**
 * How a client sends a request: the part of the web's `fetch` that it needs. The editor's, undici's and
 * `loopbackFetch` are of this type.
 */
export type Fetch = (url: URL, request: OutgoingRequest) => Promise<Answer>;

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
export interface Answer {
  readonly status: number;
  /** `opaqueredirect` where the address of a redirect is kept back. */
  readonly type?: string;
  readonly headers: AnswerHeaders;
  readonly body: AsyncIterable<Uint8Array> | null;
}

export interface AnswerHeaders {
  /** The value of a header, of any case; those of the same name are joined by commas. */
  get(name: string): string | null;
}
