import { hash } from "node:crypto";
import { Readable } from "node:stream";
import { AwsV4Signer } from "aws4fetch";
import { Agent, request } from "undici";
import { PipelineError } from "../../contract/errors.ts";

/** An S3 object store as `--object-store` and the environment name it. */
export interface ObjectStoreSettings {
  /** Its name for people, by which the servers of a database also know that they use the same one. */
  readonly name: string;
  /** The URL that an object's key is added to, with a `/` at its end. */
  readonly root: string;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string | undefined;
}

const namePattern = /^s3:\/\/(?<bucket>[A-Za-z0-9][\w.-]{1,62})(?<prefix>(?:\/[\w-][\w.-]*)*)\/?$/;

/** @throws PipelineError `usage` for what names no object store, or where the environment lacks something. */
export function objectStoreSettings(
  named: string,
  env: Readonly<Record<string, string | undefined>>,
): ObjectStoreSettings {
  const { bucket = "", prefix = "" } = namePattern.exec(named)?.groups ?? {};
  if (bucket === "") {
    throw new PipelineError("usage", `\`${named.slice(0, 100)}\` names no object store.`, {
      next: "Write it as --object-store s3://bucket or s3://bucket/prefix, with letters, digits, `.`, `_` and `-`.",
    });
  }
  const endpoint = env["AWS_ENDPOINT_URL_S3"] || env["AWS_ENDPOINT_URL"] || "";
  const region = env["AWS_REGION"] || (endpoint && "us-east-1");
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey } = env;
  if (!accessKeyId || !secretAccessKey) {
    throw new PipelineError("usage", "The object store's key is missing.", {
      next: "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.",
    });
  }
  if (!region) {
    throw new PipelineError("usage", "The object store's region is missing.", {
      next: "Set AWS_REGION, or AWS_ENDPOINT_URL_S3 for a store that isn't Amazon's.",
    });
  }
  const address = endpoint && addressOf(endpoint);
  return {
    name: `s3://${bucket}${prefix}${address && ` at ${address}`}`,
    root: `${address ? `${address}/${bucket}` : `https://${bucket}.s3.${region}.amazonaws.com`}${prefix}/`,
    region,
    accessKeyId,
    secretAccessKey,
    sessionToken: env["AWS_SESSION_TOKEN"] || undefined,
  };
}

function addressOf(endpoint: string): string {
  const url = URL.canParse(endpoint) ? new URL(endpoint) : undefined;
  if (url !== undefined && /^https?:$/.test(url.protocol))
    return url.origin + url.pathname.replace(/\/+$/, "");
  throw new PipelineError("usage", `The object store's address is \`${endpoint.slice(0, 100)}\`.`, {
    next: "Set AWS_ENDPOINT_URL_S3 to its URL, such as https://s3.example.com.",
  });
}

/** Thrown when the object store is out of reach, or refuses. */
export class ObjectStoreError extends Error {
  /** Whether it has answered that it won't: asking again doesn't help. */
  readonly isRefusal: boolean;

  constructor(message: string, { isRefusal = false, cause }: { isRefusal?: boolean; cause?: unknown } = {}) {
    super(message, { cause });
    this.isRefusal = isRefusal;
  }
}

/** An object that is read piece by piece, each by a request of its own, so that a slow reader holds no connection. */
export interface StoredObject {
  /** In bytes. */
  readonly size: number;
  readonly at: (position: number, length: number) => Promise<Buffer>;
}

/** The bytes of an object that a reader has in memory at once. */
export const pieceBytes = 1024 * 1024;
/** How long the store may be silent, in milliseconds: nothing else reveals a half-open connection. */
const silentMilliseconds = 15_000;
/** How many bytes are sent at once: each piece that the store takes counts as a sign of life, a whole body only at its end. */
const sentBytes = 64 * 1024;

interface Asked {
  readonly method: "PUT" | "GET" | "DELETE";
  readonly key: string;
  readonly headers?: Record<string, string>;
  readonly body?: Uint8Array | null;
  readonly signal?: AbortSignal | null;
}

/** Keeps objects by their keys, of letters, digits and `/._-`. Every method throws an {@link ObjectStoreError}. */
export class ObjectStore {
  readonly name: string;
  readonly #settings: ObjectStoreSettings;
  readonly #now: () => number;
  readonly #signingKeys = new Map<string, ArrayBuffer>();
  readonly #dispatcher: Agent;

  /** @param now the time that requests are signed at: a store rejects one that is off by a quarter of an hour. */
  constructor(settings: ObjectStoreSettings, now: () => number, timeout = silentMilliseconds) {
    this.name = settings.name;
    this.#settings = settings;
    this.#now = now;
    // Not by `fetch`, which an abort may not reach once its `Request` is collected (Node 24.21).
    this.#dispatcher = new Agent({ connect: { timeout }, headersTimeout: timeout, bodyTimeout: timeout });
  }

  async put(key: string, body: Uint8Array, signal: AbortSignal | null = null): Promise<void> {
    // Signed with its hash, so that the store accepts nothing else in its place.
    const headers = { "x-amz-content-sha256": hash("sha256", body) };
    await this.#ask({ method: "PUT", key, headers, body, signal });
  }

  /** Reads the first piece of an object. @returns undefined where there is none of that key. */
  async open(key: string): Promise<StoredObject | undefined> {
    const range = (position: number, length: number) =>
      this.#ask({ method: "GET", key, headers: { range: `bytes=${position}-${position + length - 1}` } });
    const first = await range(0, pieceBytes);
    if (first === undefined) return undefined;
    const [, size = first.bytes.length] = /\/(\d+)$/.exec(first.contentRange) ?? [];
    return {
      size: Number(size),
      async at(position, length) {
        if (position + length <= first.bytes.length) return first.bytes.subarray(position, position + length);
        const bytes = (await range(position, length))?.bytes ?? Buffer.alloc(0);
        // What is missing must not look like the object's end.
        if (bytes.length === length) return bytes;
        throw new ObjectStoreError(`it gives ${bytes.length} of ${length} bytes of ${key}`);
      },
    };
  }

  async delete(key: string): Promise<void> {
    await this.#ask({ method: "DELETE", key });
  }

  /** Puts, gets and deletes a small object, always the same one: a server that dies meanwhile leaves no more than that. */
  async probe(): Promise<void> {
    const key = "trial";
    await this.put(key, Buffer.from(key));
    // The result doesn't matter: another server that starts may have deleted it.
    await this.open(key);
    await this.delete(key);
  }

  /** @returns what it answers; undefined where there is no such object. */
  async #ask(asked: Asked) {
    const reply = await this.#send(asked).catch(unreached);
    const { status, bytes } = reply;
    if (status < 300) return reply;
    // An empty object has no range.
    if (status === 416) return { bytes: Buffer.alloc(0), contentRange: "" };
    const [, code = `status ${status}`] = /<Code>(\w+)<\/Code>/.exec(String(bytes)) ?? [];
    if (code === "NoSuchKey") return undefined;
    const [, says = ""] = /<Message>([^<]{1,300})<\/Message>/.exec(String(bytes)) ?? [];
    const isRefusal = status < 500 && status !== 429;
    throw new ObjectStoreError(`it answers ${code}${says && `: ${says}`}`, { isRefusal });
  }

  async #send({ method, key, headers = {}, body = null, signal = null }: Asked) {
    const { root, name: _, sessionToken, ...settings } = this.#settings;
    const token = sessionToken === undefined ? {} : { sessionToken };
    const url = `${root}${key}`;
    const datetime = new Date(this.#now()).toISOString().replaceAll(/[:-]|\.\d+/g, "");
    const signing = { ...settings, ...token, service: "s3", method, url, headers, datetime };
    const signed = await new AwsV4Signer({ ...signing, cache: this.#signingKeys }).sign();
    const sent = body === null ? {} : { "content-length": String(body.length) };
    const asked = { method, headers: { ...Object.fromEntries(signed.headers), ...sent }, signal };
    const pieces = body && Readable.from(inPieces(body));
    const reply = await request(url, { ...asked, body: pieces, dispatcher: this.#dispatcher });
    const bytes = Buffer.from(await reply.body.arrayBuffer());
    const { statusCode: status, headers: told } = reply;
    return { status, bytes, contentRange: String(told["content-range"] ?? "") };
  }
}

function* inPieces(body: Uint8Array) {
  for (let at = 0; at < body.length; at += sentBytes) yield body.subarray(at, at + sentBytes);
}

function unreached(cause: unknown): never {
  const why = cause instanceof Error ? cause.message || Object(cause).code : String(cause);
  throw new ObjectStoreError(`it is out of reach: ${why}`, { cause });
}
