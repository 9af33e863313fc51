import type { Answer, Fetch } from "../../../src/client/http/fetch.ts";
import { seededRandom, seedOf } from "../engine/random.ts";

/** A reply as an input tells it: a status, lines of headers, an empty line, and the body. */
export interface ForeignReply {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

export function readForeignReply(input: string): ForeignReply {
  const end = input.indexOf("\n\n");
  const [first = "", ...lines] = (end === -1 ? input : input.slice(0, end)).split("\n");
  const status = Number(/\d{3}/.exec(first)?.[0] ?? 200);
  const headers = new Map<string, string>();
  for (const line of lines) {
    const at = line.indexOf(":");
    if (at > 0) headers.set(line.slice(0, at).toLowerCase().trim(), line.slice(at + 1).trim());
  }
  return {
    status: Math.max(200, Math.min(599, status)),
    headers,
    body: end === -1 ? "" : input.slice(end + 2),
  };
}

/** A `fetch` that brings one reply, its body in pieces. */
export function fetchOf({ status, headers }: ForeignReply, pieces: readonly Uint8Array[]): Fetch {
  return async (_, { signal }) => {
    signal.throwIfAborted();
    return answerOf(status, headers, pieces);
  };
}

function answerOf(
  status: number,
  headers: ReadonlyMap<string, string>,
  pieces: readonly Uint8Array[],
): Answer {
  return {
    status,
    headers: { get: (name) => headers.get(name.toLowerCase()) ?? null },
    body: (async function* () {
      yield* pieces;
    })(),
  };
}

/** The bytes cut at places that follow from them, in pieces of one byte up to many. */
export function inPieces(
  bytes: Uint8Array,
  seed = seedOf(Buffer.from(bytes).toString("latin1")),
): Uint8Array[] {
  const random = seededRandom(seed);
  const longest = 1 + random.below(random.oneIn(2) ? 4 : bytes.length + 1);
  const pieces: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; ) {
    const length = 1 + random.below(longest);
    pieces.push(bytes.slice(at, at + length));
    at += length;
  }
  return pieces;
}
