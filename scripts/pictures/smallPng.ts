import { crc32, deflateSync } from "node:zlib";
import type { Pixels } from "./pixels.ts";

/** As many as one byte can name. */
const mostColors = 256;

/**
 * A PNG of at most 256 colours, which is what a picture of a window needs: most of its colours are shades between a letter and
 * what is behind it. A colour that is in the palette stays, and each of the others becomes the nearest of those.
 */
export function smallPng({ width, height, rgb }: Pixels): Buffer {
  const counts = new Map<number, number>();
  const colors = new Uint32Array(width * height);
  for (let at = 0; at < colors.length; at++) {
    const color = ((rgb[at * 3] ?? 0) << 16) | ((rgb[at * 3 + 1] ?? 0) << 8) | (rgb[at * 3 + 2] ?? 0);
    colors[at] = color;
    counts.set(color, (counts.get(color) ?? 0) + 1);
  }
  const palette = paletteOf([...counts].sort(([, one], [, other]) => other - one).map(([color]) => color));
  const indexes = new Map(palette.map((color, index) => [color, index]));
  const rows = Buffer.alloc(height * (width + 1));
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const color = colors[y * width + x] ?? 0;
      let index = indexes.get(color);
      if (index === undefined) {
        index = nearest(color, palette);
        indexes.set(color, index);
      }
      rows[y * (width + 1) + 1 + x] = index;
    }
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 3, 0, 0, 0], 8);
  const paletteBytes = Buffer.from(
    palette.flatMap((color) => [color >> 16, (color >> 8) & 255, color & 255]),
  );
  return Buffer.concat([
    Buffer.from("\u0089PNG\r\n\u001a\n", "latin1"),
    chunk("IHDR", header),
    chunk("PLTE", paletteBytes),
    chunk("IDAT", deflateSync(rows, { level: 9 })),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

/** So few of the colours, which come by how common they are, that each of the others is near to one of them. */
function paletteOf(colors: readonly number[]): readonly number[] {
  for (let apart = 0; ; apart += 3) {
    const palette: number[] = [];
    for (const color of colors) {
      if (palette.some((other) => distance(color, other) <= apart ** 2)) continue;
      palette.push(color);
      if (palette.length > mostColors) break;
    }
    if (palette.length <= mostColors) return palette;
  }
}

function nearest(color: number, palette: readonly number[]): number {
  let best = 0;
  let bestDistance = Number.POSITIVE_INFINITY;
  for (const [index, other] of palette.entries()) {
    const found = distance(color, other);
    if (found < bestDistance) [best, bestDistance] = [index, found];
  }
  return best;
}

/** The square of how far two colours are apart. */
function distance(one: number, other: number): number {
  const red = (one >> 16) - (other >> 16);
  const green = ((one >> 8) & 255) - ((other >> 8) & 255);
  const blue = (one & 255) - (other & 255);
  return red ** 2 + green ** 2 + blue ** 2;
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const whole = Buffer.alloc(body.length + 8);
  whole.writeUInt32BE(data.length, 0);
  whole.set(body, 4);
  whole.writeUInt32BE(crc32(body), body.length + 4);
  return whole;
}
