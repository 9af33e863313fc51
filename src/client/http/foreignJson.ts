import { unshown } from "../../contract/unshown.ts";
import { visible } from "../../contract/visible.ts";
import { withoutSecret } from "./foreignText.ts";

/** The fields that hold sentences, which may have several lines; a line break in any other would break a table. */
const sentences: ReadonlySet<string> = new Set(["message", "reason", "problem"]);

/** The fields that hold ids: with a character less they would be the id of something else. */
const ids: ReadonlySet<string> = new Set(["run-id", "actor"]);

const hidden = new RegExp(`(?![\\n\\t])[${unshown}]`, "gu");

/** Most texts are letters of ASCII: to see that takes less than to make the other patterns. */
const ascii = /^[ -~]*$/;

/**
 * Parses JSON from outside. Every text in it is made fit to be shown on a terminal or a screen: without control
 * characters, which could move the cursor or set a clipboard, without those that turn the direction of writing, and
 * without the API key, in case the service repeats what it was sent.
 *
 * @throws SyntaxError for what is no JSON.
 */
export function parseForeignJson(text: string, apiKey: string): unknown {
  return JSON.parse(text, (field, value: unknown) =>
    typeof value === "string" ? shown(field, value, apiKey) : value,
  );
}

/** The key is looked for last: a character that is taken out of its middle would join it again. */
function shown(field: string, text: string, apiKey: string): string {
  if (ascii.test(text)) return withoutSecret(text, apiKey);
  if (ids.has(field)) return withoutSecret(visible(text), apiKey);
  const lines = sentences.has(field) ? text : text.replace(/[\r\n\t\u2028\u2029]+/g, " ");
  const plain = lines.replace(hidden, "");
  return withoutSecret(plain, apiKey);
}
