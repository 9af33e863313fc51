import type { StepSurroundings } from "../stepOutcome.ts";
import type { HttpReply } from "./sendRequest.ts";

/** The largest body that is kept of a reply, in bytes: of one that is as expected, and of one that isn't. */
const most = { asExpected: 64 * 1024, otherwise: 1024 * 1024 } as const;

/** In characters: what a secret that is cut off may take of what is looked at, so that it is none of what is kept. */
const longestSecret = 128 * 1024;

const unknownType = "application/octet-stream";

const extensions: Readonly<Record<string, string>> = {
  "application/json": "json",
  "application/xml": "xml",
  "image/gif": "gif",
  "image/jpeg": "jpg",
  "image/png": "png",
  "text/css": "css",
  "text/csv": "csv",
  "text/html": "html",
  "text/plain": "txt",
  "text/xml": "xml",
};

/** Keeps the reply's body with the run: always when the step fails, else when it is small. */
export async function keepBody(
  { bytes, text, headers }: HttpReply,
  hasFailed: boolean,
  { mask, log, keep }: Pick<StepSurroundings, "mask" | "log" | "keep">,
): Promise<void> {
  if (bytes.length === 0 || (!hasFailed && bytes.length > most.asExpected)) return;
  const written = mediaTypeOf(headers);
  const mediaType = mask.hide(written) === written ? written : unknownType;
  const name = `body.${extensions[mediaType] ?? (mediaType.endsWith("+json") ? "json" : "bin")}`;
  // Of what is no text the bytes are kept as they came, unless they hold a secret.
  const masked = mask.hideIn(text, most.otherwise + longestSecret);
  const content = text.startsWith(masked) ? bytes : Buffer.from(masked);
  if (content.length > most.otherwise) {
    log.note(`of the reply's body the first ${most.otherwise} bytes are kept`);
  }
  await keep({ name, mediaType, content: content.subarray(0, most.otherwise) });
}

function mediaTypeOf(headers: HttpReply["headers"]): string {
  const written = headers.get("content-type")?.split(";", 1)[0]?.trim().toLowerCase() ?? "";
  return /^[\w.+-]{1,60}\/[\w.+-]{1,60}$/.test(written) ? written : unknownType;
}
