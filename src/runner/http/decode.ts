import { pipeline, type Transform } from "node:stream";
import {
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
} from "node:zlib";

/** By the names of `content-encoding`; each is given the beginning of what is compressed. */
const decoders = new Map<string, (start: Uint8Array) => Transform>([
  ["gzip", () => createGunzip()],
  ["x-gzip", () => createGunzip()],
  ["br", () => createBrotliDecompress()],
  ["zstd", () => createZstdDecompress()],
  // Servers send two formats by that name: only one has a head.
  ["deflate", ([first = 0]) => ((first & 0x0f) === 8 ? createInflate() : createInflateRaw())],
]);

/** Each takes time and memory. */
const mostEncodings = 5;

/** A body as it was before its `content-encoding`: as it came where one of them isn't known, or nothing came. */
export function decompress(body: AsyncIterable<Uint8Array>, encoding = ""): AsyncIterable<Uint8Array> {
  const names = encoding
    .toLowerCase()
    .split(",")
    .map((name) => name.trim());
  const makers = names.flatMap((name) => decoders.get(name) ?? []);
  if (makers.length < names.length || makers.length > mostEncodings) return body;
  return makers.reduceRight(decoded, body);
}

async function* decoded(
  compressed: AsyncIterable<Uint8Array>,
  decoder: (start: Uint8Array) => Transform,
): AsyncGenerator<Uint8Array> {
  const pieces = compressed[Symbol.asyncIterator]();
  const start = await pieces.next();
  if (start.done) return;
  const whole = async function* () {
    yield start.value;
    yield* { [Symbol.asyncIterator]: () => pieces };
  };
  // What fails is thrown where the last one is read.
  yield* pipeline(whole, decoder(start.value), () => {});
}

/** The encodings that a byte-order mark tells of. */
const marks: readonly (readonly [string, readonly number[]])[] = [
  ["utf-8", [0xef, 0xbb, 0xbf]],
  ["utf-16le", [0xff, 0xfe]],
  ["utf-16be", [0xfe, 0xff]],
];

/** Where HTML and XML say their own encoding, at most: what the HTML standard has browsers look at. */
const longestProlog = 1024;

/**
 * The text of a document from elsewhere: in the encoding of its byte-order mark, else of its `content-type`, else the one that it
 * names itself, else in UTF-8. What is no text there becomes U+FFFD.
 */
export function decodeText(bytes: Uint8Array, contentType = ""): string {
  return decoderFor(bytes, contentType).decode(bytes);
}

/** A decoder for the encoding of a document. @param start what is there of it. */
export function decoderFor(start: Uint8Array, contentType = "") {
  const marked = marks.find(([, mark]) => mark.every((byte, index) => start[index] === byte))?.[0];
  const labels = [marked, saidBy(contentType), saidWithin(start, contentType)];
  return new TextDecoder(labels.find(isKnown));
}

/** The encoding that a `content-type` names and nobody here knows, as `ibm850`. */
export function unknownEncoding(contentType = ""): string | undefined {
  const said = saidBy(contentType);
  return isKnown(said) ? undefined : said;
}

function saidBy(contentType: string): string | undefined {
  return /;\s*charset\s*=\s*["']?([^\s;"']+)/i.exec(contentType)?.[1];
}

function saidWithin(bytes: Uint8Array, contentType: string): string | undefined {
  if (!/\b(?:html|xml)\b/i.test(contentType)) return undefined;
  const prolog = Buffer.from(bytes.subarray(0, longestProlog)).toString("latin1");
  const label = /<(?:meta\s[^>]*charset|\?xml\s[^>]*encoding)\s*=\s*["']?([\w-]+)/i.exec(prolog)?.[1];
  // What could be read so far is no UTF-16, whatever it says.
  return /^utf-?16/i.test(label ?? "") ? "utf-8" : label;
}

function isKnown(label: string | undefined): boolean {
  try {
    return label !== undefined && new TextDecoder(label).encoding !== "";
  } catch {
    return false;
  }
}

/** A header's value, whose bytes Node gives as Latin-1: in UTF-8 where it is that, as most servers and browsers send it. */
export function headerText(value: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.from(value, "latin1"));
  } catch {
    return value;
  }
}

/** A header's value in UTF-8, as Node and undici take it: each byte a character. */
export function headerBytes(value: string): string {
  return Buffer.from(value.trim()).toString("latin1");
}
