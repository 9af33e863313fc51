import { suggestion } from "../nearestName.ts";
import { quoted } from "../quoted.ts";

const modifiers = ["Shift", "Control", "Alt", "Meta", "ControlOrMeta"];

/** The keys that have a name. */
export const keyNames: readonly string[] = [
  ...modifiers,
  ...[
    "Enter",
    "Tab",
    "Escape",
    "Space",
    "Backspace",
    "Delete",
    "Insert",
    "Home",
    "End",
    "PageUp",
    "PageDown",
  ],
  ...["ArrowLeft", "ArrowUp", "ArrowRight", "ArrowDown", "CapsLock", "ContextMenu"],
  ...Array.from({ length: 12 }, (_, index) => `F${index + 1}`),
];

/** Looks at `Enter`, `a` or `Control+Shift+K`: modifiers and then one key. @returns undefined for keys that there are. */
export function problemOfKey(written: string): string | undefined {
  // A plus may be the key itself: `+`, `Control++`.
  const [, before = "", key = ""] = /^((?:[^+]+\+)*)([^+]+|\+)$/s.exec(written) ?? [];
  const held = before.split("+").filter((name) => name !== "");
  const wrong = held.find((name) => !modifiers.includes(name));
  if (wrong !== undefined) {
    const near = suggestion(wrong, modifiers);
    return `\`${quoted(wrong)}\` can't be held while another key is pressed${near || `; these can: ${modifiers.join(", ")}`}`;
  }
  if (/^[\x20-\x7e]$/.test(key) || keyNames.includes(key)) return undefined;
  const near = suggestion(key, keyNames);
  return `there is no key \`${quoted(key || written)}\`${near || "; a key is one character, or a name such as Enter, Tab, Escape or ArrowDown"}`;
}
