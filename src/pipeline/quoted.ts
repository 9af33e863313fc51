import { controlCharacters } from "../contract/controlCharacters.ts";

const hidden = new RegExp(`[\\s${controlCharacters}]+`, "gu");

/** A piece of the file, short and on one line, for the middle of a message. */
export function quoted(text: string): string {
  const line = text.replace(hidden, " ");
  return line.length > 60 ? `${line.slice(0, 60)}…` : line;
}
