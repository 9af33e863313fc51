/** A file's text, or where it isn't UTF-8 and what it is instead. */
type ReadText =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "other"; readonly problem: string; readonly line: number; readonly column: number };

/**
 * Reads bytes as the UTF-8 that every file of a project is in: a letter that is lost in reading would change what is run.
 *
 * @param isWhole whether the bytes are the whole file; otherwise its last character may be cut.
 */
export function readUtf8(bytes: Uint8Array, isWhole = true): ReadText {
  const isUtf16 = (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff);
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  try {
    const text = decoder.decode(bytes, { stream: !isWhole });
    if (!text.includes("\0")) return { kind: "text", text };
    return other("it holds NUL characters, as UTF-16 does", text.slice(0, text.indexOf("\0")));
  } catch {
    if (isUtf16) return other("it is UTF-16", "");
    // What is no character becomes another one, with other bytes.
    const again = Buffer.from(new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes));
    const differs = bytes.findIndex((byte, index) => byte !== again[index]);
    // A character that is cut at the end may be the beginning of the one in its place.
    const offset = differs === -1 ? again.length - 3 : differs;
    const before = again.subarray(0, offset).toString();
    const byte = bytes[offset] ?? 0;
    return other(`the byte 0x${byte.toString(16).toUpperCase()} here is none of its characters`, before);
  }
}

function other(how: string, before: string): ReadText {
  const lines = before.split("\n");
  const column = (lines.at(-1)?.length ?? 0) + 1;
  return {
    kind: "other",
    problem: `this is not UTF-8: ${how}; save the file as UTF-8`,
    line: lines.length,
    column,
  };
}
