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
