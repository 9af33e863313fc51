/** An answer over HTTP/1.1, whole. */
export interface PlainReply {
  readonly status: number;
  /** By their names in small letters; those of the same name are joined by commas. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Uint8Array;
  /** Whether the connection may be used again. */
  readonly staysOpen: boolean;
}

const largestHead = 16 * 1024;
const largestBody = 1024 * 1024;
const headEnd = "\r\n\r\n";

/**
 * Reads an answer as a service gives it to a short question: a good one or an error, with the length of its body in its
 * head, which is how this machine's own service answers all of them.
 *
 * @param bytes all that has come.
 * @returns undefined while it isn't whole.
 * @throws Error for whatever is or may be anything else, well formed or not.
 */
export function readPlainReply(bytes: Buffer): PlainReply | undefined {
  const end = bytes.subarray(0, largestHead).indexOf(headEnd);
  if (end < 0 && bytes.length >= largestHead) throw new Error("The head is too large.");
  if (end < 0) return undefined;
  const [first = "", ...lines] = bytes.toString("latin1", 0, end).split("\r\n");
  const [, status] = /^HTTP\/1\.1 (200|[45]\d\d)(?: |$)/.exec(first) ?? [];
  if (status === undefined) throw new Error("The first line isn't that of a plain answer.");
  const headers = headersOf(lines);
  const from = end + headEnd.length;
  const to = from + lengthOf(headers);
  if (bytes.length < to) return undefined;
  const staysOpen = bytes.length === to && !/close/i.test(headers.get("connection") ?? "");
  return { status: Number(status), headers, body: bytes.subarray(from, to), staysOpen };
}

function headersOf(lines: readonly string[]): Map<string, string> {
  const headers = new Map<string, string>();
  for (const line of lines) {
    const [, name, value] = /^([!#$%&'*+.^`|~\w-]+):[ \t]*([\t\x20-\x7e\x80-\xff]*)$/.exec(line) ?? [];
    if (name === undefined || value === undefined) throw new Error("A line of the head is no header.");
    const key = name.toLowerCase();
    const before = headers.get(key);
    headers.set(key, before === undefined ? value.trimEnd() : `${before}, ${value.trimEnd()}`);
  }
  return headers;
}

function lengthOf(headers: ReadonlyMap<string, string>): number {
  const length = headers.get("content-length") ?? "";
  if (headers.has("transfer-encoding") || !/^\d{1,9}$/.test(length) || Number(length) > largestBody) {
    throw new Error("The head doesn't say how short the body is.");
  }
  return Number(length);
}
