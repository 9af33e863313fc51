import { readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { strFromU8, strToU8, unzipSync, zipSync } from "fflate";
import { describeError } from "../../contract/errors.ts";
import { type Mask, maskedBytes, maskedJson } from "../mask/mask.ts";
import { problemOfSize } from "../step/runOutput.ts";
import { DeadlineExceeded } from "./deadline.ts";
import type { BrowserUse } from "./openBrowser.ts";

/** The most that a trace may unpack to, in bytes. */
const largestUnpacked = 64 * 1024 * 1024;

/** Ends the trace of a step that failed, and saves it with its secrets masked. */
export async function saveTrace({ browser, deadline, mask, stepContext }: BrowserUse): Promise<void> {
  const { context, folder } = browser.started;
  const { saveArtifact, log } = stepContext;
  const name = "trace.zip";
  const path = join(folder, name);
  try {
    await deadline.forScreenshot().within(context.tracing.stopChunk({ path }));
    const { size } = await stat(path);
    const problem = problemOfSize(size);
    if (problem !== undefined) throw new Error(problem);
    const content = masked(await readFile(path), mask);
    saveArtifact({ name, mediaType: "application/zip", content });
    log.note(`trace ${name}`);
  } catch (error) {
    const why = error instanceof DeadlineExceeded ? "the browser didn't respond" : describeError(error);
    log.note(`${name} isn't kept: ${why}`);
  } finally {
    await rm(path, { force: true });
  }
}

/** @throws Error for a trace that is too large. */
function masked(packed: Uint8Array, mask: Mask): Uint8Array {
  let unpacked = 0;
  const entries = unzipSync(packed, {
    // Stacks are of this program, not of anything that a person wrote.
    filter: ({ name, originalSize }) => {
      unpacked += originalSize;
      return unpacked <= largestUnpacked && !name.endsWith(".stacks");
    },
  });
  if (unpacked > largestUnpacked) throw new Error(`it unpacks to more than ${largestUnpacked} bytes`);
  return zipSync(
    Object.fromEntries(
      Object.entries(entries).map(([name, bytes]) => [name, maskedEntry(name, bytes, mask)]),
    ),
  );
}

function maskedEntry(name: string, bytes: Uint8Array, mask: Mask): Uint8Array {
  if (/\.(?:trace|network)$/.test(name)) {
    // Each event of the trace stays JSON.
    const lines = strFromU8(bytes).split("\n");
    return strToU8(lines.map((line) => maskedJson(line, mask) ?? mask.hide(line)).join("\n"));
  }
  const { isText, content } = maskedBytes(bytes, mask);
  if (isText) return typeof content === "string" ? strToU8(content) : content;
  // A secret may be among bytes that aren't text.
  const text = strFromU8(bytes, true);
  const masked = mask.hide(text);
  return masked === text ? bytes : strToU8(masked, true);
}
