import { pipeline, type Transform } from "node:stream";
import {
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
} from "node:zlib";

/** The decoders by their names in `content-encoding`; each is given the beginning of the compressed bytes. */
const decoders = new Map<string, (start: Uint8Array) => Transform>([
  ["gzip", () => createGunzip()],
  ["x-gzip", () => createGunzip()],
  ["br", () => createBrotliDecompress()],
  ["zstd", () => createZstdDecompress()],
  // Servers send two formats by that name, of which only one has a header.
  ["deflate", ([first = 0]) => ((first & 0x0f) === 8 ? createInflate() : createInflateRaw())],
]);

/** A limit, since each takes time and memory. */
const mostEncodings = 5;

/** A body with its `content-encoding` undone, or as it came if one of its encodings isn't known or there are too many. */
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
  // Errors are thrown where the last decoder is read.
  yield* pipeline(whole, decoder(start.value), () => {});
}

/** The encodings by their byte-order marks. */
const marks: readonly (readonly [string, readonly number[]])[] = [
  ["utf-8", [0xef, 0xbb, 0xbf]],
  ["utf-16le", [0xff, 0xfe]],
  ["utf-16be", [0xfe, 0xff]],
];

/** The most bytes in which HTML and XML name their own encoding: as many as the HTML standard has browsers look at. */
const longestProlog = 1024;

/**
 * The text of a foreign document: in the encoding of its byte-order mark, else of its `content-type`, else the one that it
 * names itself, else in UTF-8. Invalid bytes become U+FFFD.
 */
export function decodeText(bytes: Uint8Array, contentType = ""): string {
  // The decoder leaves out one mark, and some servers send several.
  return decoderFor(bytes, contentType)
    .decode(bytes)
    .replace(/^\ufeff+/, "");
}

/** A decoder for the encoding of a document. @param start its bytes so far. */
export function decoderFor(start: Uint8Array, contentType = "") {
  const marked = marks.find(([, mark]) => mark.every((byte, index) => start[index] === byte))?.[0];
  const labels = [marked, saidBy(contentType), saidWithin(start, contentType)];
  return new TextDecoder(labels.find(isKnown));
}

/** The encoding that a `content-type` names if it isn't known here, such as `ibm850`. */
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
  // A document whose prolog could be read here isn't in UTF-16, whatever it says.
  return /^utf-?16/i.test(label ?? "") ? "utf-8" : label;
}

function isKnown(label: string | undefined): boolean {
  try {
    return label !== undefined && new TextDecoder(label).encoding !== "";
  } catch {
    return false;
  }
}

/** A header's value, whose bytes Node gives as Latin-1: decoded as UTF-8 if it is valid, as most servers and browsers send it. */
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
