/** What another tool would fill in. */
export interface Placeholder {
  readonly written: string;
  readonly name: string;
}

/** Of Postman, Hurl, runn, venom and Taskfile. */
const inBraces = /(?<!\$)\{\{\s*[\w.$][^{}\n]*\}\}/;
/** Of a shell, and so of Docker Compose and GitLab CI. Without braces, only what is surely a variable. */
const ofShell = /(?<![\w$])\$(?:\{([A-Za-z_]\w*)(?::?[-=?][^{}\n]*)?\}|([A-Z][A-Z0-9_]{2,})\b(?!\$))/;

/** @param not what isn't looked for, since the text may mean it. */
export function placeholderIn(text: string, not?: "braces" | "shell"): Placeholder | undefined {
  const [written] = (not !== "braces" && inBraces.exec(text)) || [];
  if (written !== undefined) return { written, name: written.match(/[\w-]+/g)?.at(-1) ?? "name" };
  const [variable, braced, bare] = (not !== "shell" && ofShell.exec(text)) || [];
  // GraphQL has variables of its own.
  const name = braced ?? (/(?<!\{)\{(?!\{)/.test(text) ? undefined : bare);
  return variable === undefined || name === undefined ? undefined : { written: variable, name };
}

/** `baseUrl`, `base-url`: `BASE_URL`. */
export function variableOf(name: string): string {
  return name
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .replaceAll("-", "_")
    .toUpperCase();
}

/** What is said of a text that has expressions, or a placeholder, where none can be. */
export const nothingFilledIn = "nothing can be filled in here";
