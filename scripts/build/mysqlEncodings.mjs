/**
 * What the library for MySQL asks of `iconv-lite`, done by Node: nearly all that it decodes is UTF-8, which it does itself. The rest are
 * the texts of servers that begin with another character set, and those of sessions that have been told to use one.
 */
export function getDecoder(encoding) {
  return {
    write: (bytes) => (isPlain(bytes, encoding) ? bytes.toString("latin1") : decode(bytes, encoding)),
    end() {},
  };
}

function decode(bytes, encoding) {
  // Of at most three bytes a character, as MySQL's `utf8` is, both are the same.
  if (encoding === "cesu8") return bytes.toString("utf8");
  return new TextDecoder(nodeNames.get(encoding) ?? encoding).decode(bytes);
}

/** What Node knows by other names. */
const nodeNames = new Map([
  ["cp932", "shift_jis"],
  ["eucjp", "euc-jp"],
  ["eucjpms", "euc-jp"],
  ["euckr", "euc-kr"],
  ["koi8r", "koi8-r"],
  ["koi8u", "koi8-u"],
  ["latin7", "iso-8859-13"],
  ["tis620", "windows-874"],
  ["utf16", "utf-16be"],
]);

export function getEncoder(encoding) {
  return { write: (text) => encode(text, encoding), end() {} };
}

function encode(text, encoding) {
  const bytes = Buffer.from(text);
  if (encoding === "cesu8" || isPlain(bytes, encoding)) return bytes;
  throw new Error(`no text can be sent in ${encoding}: leave the session's character set at utf8mb4`);
}

/** Whether they are letters of ASCII, which are the same in all that isn't wider. */
function isPlain(bytes, encoding) {
  return !encoding.startsWith("utf") && bytes.every((byte) => byte < 0x80);
}
