import type { AnsiStyle } from "../../contract/ansi.ts";
import type { TextLine } from "./textLine.ts";

/** What one decoration shows; a piece of text may have several. */
export type LookKey =
  | `text-${number}`
  | `text-on-color-${number}`
  | `text-for-ground-${number}`
  | `ground-${number}`
  | "inverse-text"
  | "inverse-ground"
  | "bold"
  | "dim"
  | "quiet"
  | "italic"
  | "underline"
  | "stderr"
  | "note";

/** Which decorations a piece of text has. Inverse text has its colours the other way round. */
export function lookKeys({ foreground, background, effects }: AnsiStyle): LookKey[] {
  const isInverse = effects.has("inverse");
  const text = isInverse ? background : foreground;
  const ground = isInverse ? foreground : background;
  const keys: LookKey[] = [...groundKeys(ground, isInverse), ...textKeys(text, ground, isInverse)];
  for (const effect of effects) {
    if (effect === "dim") keys.push(keys.length === 0 ? "quiet" : "dim");
    else if (effect !== "inverse") keys.push(effect);
  }
  return keys;
}

/** What a whole line is told apart by. */
export function lineKey({ stream }: TextLine): "stderr" | "note" | undefined {
  return stream === "stderr" || stream === "note" ? stream : undefined;
}

function groundKeys(ground: number | undefined, isInverse: boolean): LookKey[] {
  if (ground !== undefined) return [`ground-${ground}`];
  return isInverse ? ["inverse-ground"] : [];
}

/** Black, white and bright white: on a colour they are meant to be read, so they become what can be read on it. */
const neutral: ReadonlySet<number> = new Set([0, 7, 15]);

function textKeys(text: number | undefined, ground: number | undefined, isInverse: boolean): LookKey[] {
  if (ground !== undefined && (text === undefined || neutral.has(text))) return [`text-for-ground-${ground}`];
  if (text !== undefined)
    return [ground === undefined && !isInverse ? `text-${text}` : `text-on-color-${text}`];
  return isInverse ? ["inverse-text"] : [];
}
