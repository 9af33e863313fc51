import { inflateSync } from "node:zlib";

/** A picture, three bytes a pixel: red, green, blue; row by row from the top. */
export interface Pixels {
  readonly width: number;
  readonly height: number;
  readonly rgb: Uint8Array;
}

/** The colour types of a PNG that a browser's screenshot has, with their bytes a pixel. */
const bytesOf: Readonly<Record<number, number>> = { 2: 3, 6: 4 };

/** Reads a PNG as a browser's screenshot is one. @throws Error for any other kind. */
export function readPng(png: Buffer): Pixels {
  const width = png.readUInt32BE(16);
  const height = png.readUInt32BE(20);
  const [depth = 0, colorType = 0, , , interlace = 0] = png.subarray(24, 29);
  const size = bytesOf[colorType];
  if (depth !== 8 || interlace !== 0 || size === undefined)
    throw new Error("This is no PNG of a browser's screenshot.");
  const data: Buffer[] = [];
  for (let at = 8; at < png.length; ) {
    const length = png.readUInt32BE(at);
    if (png.toString("latin1", at + 4, at + 8) === "IDAT") data.push(png.subarray(at + 8, at + 8 + length));
    at += 12 + length;
  }
  const rows = inflateSync(Buffer.concat(data));
  const stride = width * size;
  const rgb = new Uint8Array(width * height * 3);
  let above = new Uint8Array(stride);
  for (let y = 0; y < height; y++) {
    const start = y * (stride + 1);
    const row = unfiltered(rows[start] ?? 0, rows.subarray(start + 1, start + 1 + stride), above, size);
    for (let x = 0; x < width; x++) {
      for (let part = 0; part < 3; part++) rgb[(y * width + x) * 3 + part] = row[x * size + part] ?? 0;
    }
    above = row;
  }
  return { width, height, rgb };
}

/** Takes back what a PNG's filter did to a row (PNG specification, "Filter types for filter method 0"). */
function unfiltered(
  filter: number,
  row: Uint8Array,
  above: Uint8Array,
  size: number,
): Uint8Array<ArrayBuffer> {
  const plain = new Uint8Array(row.length);
  for (let at = 0; at < row.length; at++) {
    const left = at < size ? 0 : (plain[at - size] ?? 0);
    const up = above[at] ?? 0;
    const corner = at < size ? 0 : (above[at - size] ?? 0);
    plain[at] = (row[at] ?? 0) + predicted(filter, left, up, corner);
  }
  return plain;
}

function predicted(filter: number, left: number, up: number, corner: number): number {
  switch (filter) {
    case 1:
      return left;
    case 2:
      return up;
    case 3:
      return (left + up) >> 1;
    case 4: {
      const guess = left + up - corner;
      const [byLeft, byUp, byCorner] = [
        Math.abs(guess - left),
        Math.abs(guess - up),
        Math.abs(guess - corner),
      ];
      return byLeft <= byUp && byLeft <= byCorner ? left : byUp <= byCorner ? up : corner;
    }
    default:
      return 0;
  }
}
