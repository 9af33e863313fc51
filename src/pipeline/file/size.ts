import { Lexer } from "yaml";
import { largestFile } from "../../contract/limits.ts";

/**
 * The YAML library takes some 10 µs for each, and the service reads files of cloned repositories, which may be hostile. A file of
 * three thousand steps has fewer.
 */
const mostTokens = 128 * 1024;

/** A text of this length has no more tokens than that. */
const neverTooMany = mostTokens / 2;

/** Why a text is not read, as the end of `the file …`; undefined for one that is. */
export function problemOfSize(text: string): string | undefined {
  if (text.length > largestFile) return "is larger than 1 MiB, the most that is read";
  if (text.length <= neverTooMany) return undefined;
  let count = 0;
  for (const _ of new Lexer().lex(text)) {
    count += 1;
    if (count > mostTokens) return `has too many values to be read: put some of its steps into a part`;
  }
  return undefined;
}
