import { readFile, rm, stat } from "node:fs/promises";
import { strFromU8, strToU8, unzipSync, zipSync } from "fflate";
import { largestArtifact } from "../../contract/limits.ts";
import { parseJson } from "../../pipeline/expression/value.ts";
import type { Mask } from "../mask/mask.ts";
import { maskedValue } from "../mask/maskedValue.ts";
import { asJson } from "../step/jsonMismatches.ts";

/** The most that a trace may unpack to, in bytes. */
const largestUnpacked = 128 * 1024 * 1024;

/**
 * Reads a trace that the driver has written, with the secrets masked in all that it holds, and removes it.
 * @returns why it is too large, in words, where it is.
 */
export async function readTrace(path: string, mask: Mask): Promise<Uint8Array | string> {
  const { size } = await stat(path);
  const packed = size > largestArtifact ? undefined : await readFile(path);
  await rm(path);
  if (packed === undefined) return `it has ${size} bytes, and at most ${largestArtifact} are saved of one`;
  let unpacked = 0;
  const entries = unzipSync(packed, {
    // Stacks are those of this program, not of anything that a person wrote.
    filter: ({ name, originalSize }) => {
      unpacked += originalSize;
      return unpacked <= largestUnpacked && !name.endsWith(".stacks");
    },
  });
  if (unpacked > largestUnpacked) return `it unpacks to more than ${largestUnpacked} bytes`;
  return zipSync(
    Object.fromEntries(
      Object.entries(entries).map(([name, bytes]) => [name, maskedEntry(name, bytes, mask)]),
    ),
  );
}

function maskedEntry(name: string, bytes: Uint8Array, mask: Mask): Uint8Array {
  if (/\.(?:trace|network)$/.test(name)) {
    const lines = strFromU8(bytes).split("\n");
    return strToU8(lines.map((line) => maskedLine(line, mask)).join("\n"));
  }
  // What a page loads may be in any encoding. In each that browsers still read but UTF-16, plain letters are single bytes.
  let text: string;
  let isUtf8 = true;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    text = strFromU8(bytes, true);
    isUtf8 = false;
  }
  const masked = mask.hide(text);
  return masked === text ? bytes : strToU8(masked, !isUtf8);
}

/** An event of the trace, which stays JSON. */
function maskedLine(line: string, mask: Mask): string {
  const event = parseJson(line);
  return event === undefined ? mask.hide(line) : asJson(maskedValue(event.value, mask));
}
