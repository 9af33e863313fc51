import assert from "node:assert/strict";
import { inflateSync } from "node:zlib";

interface Picture {
  readonly width: number;
  readonly height: number;
  /** Red, green and blue of the pixel in the upper left corner. */
  readonly corner: readonly number[];
}

/** Reads as much of a PNG as tells which page it is of. */
export function readPng(content: string | Uint8Array | undefined): Picture {
  assert.ok(content instanceof Uint8Array, "there is no picture");
  const bytes = Buffer.from(content);
  assert.equal(bytes.subarray(0, 8).toString("latin1"), "\u0089PNG\r\n\u001a\n");
  const data: Buffer[] = [];
  for (let at = 8; at < bytes.length; ) {
    const length = bytes.readUInt32BE(at);
    const type = bytes.subarray(at + 4, at + 8).toString("latin1");
    if (type === "IDAT") data.push(bytes.subarray(at + 8, at + 8 + length));
    at += length + 12;
  }
  // The first byte tells how the row is packed; a row's first pixel stands as it is in every way of packing.
  const corner = [...inflateSync(Buffer.concat(data)).subarray(1, 4)];
  return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20), corner };
}
