/** What a person can read in an editor and Git keeps as it is: whole characters, none of them a control character. */
const readable = /^(?:[\n\t]|[^\p{Cc}\p{Cf}\p{Cs}\u2028\u2029])*$/u;

/** How an input is kept in a file: as it is where that can be read, otherwise as a JSON string in ASCII. */
export function keptAs(input: string): { readonly extension: ".txt" | ".escaped"; readonly text: string } {
  if (readable.test(input)) return { extension: ".txt", text: input };
  const escaped = JSON.stringify(input).replace(
    /[\u007f-\uffff]/g,
    (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
  return { extension: ".escaped", text: `${escaped}\n` };
}

/** The input that a file keeps. @throws for an `.escaped` file that is no JSON string. */
export function inputOf(name: string, text: string): string {
  if (!name.endsWith(".escaped")) return text;
  const input: unknown = JSON.parse(text);
  if (typeof input !== "string") throw new Error(`${name} holds no JSON string.`);
  return input;
}
