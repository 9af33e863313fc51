import { splitReferences } from "../environmentReference.ts";
import type { Caret } from "./caret.ts";
import { startOfLine } from "./startOfLine.ts";
import { escapeSnippet, type Suggestion } from "./suggestion.ts";
import type { Crumb } from "./treeParts.ts";

/** A reference that has been begun, up to the caret. */
const begun = /\$(?:\{(?:\{\s*(?:e(?:n(?:v(?:\.[A-Za-z0-9_]*)?)?)?)?)?)?$/;

/**
 * The environment's variables that the file names already, where a reference is begun; never their values.
 * @returns undefined where none is begun.
 */
export function suggestVariables(
  text: string,
  offset: number,
  caret: Caret,
): readonly Suggestion[] | undefined {
  const { spot } = caret;
  if (spot.kind !== "value" || isFixed(spot.crumbs)) return undefined;
  const lineStart = startOfLine(text, offset);
  const typed = begun.exec(text.slice(lineStart, offset))?.[0];
  if (typed === undefined) return undefined;
  const start = offset - typed.length;
  const isBare = spot.style === "plain" && spot.isFlow;
  // A bracket of a plain text in a flow map would end it; quotes can be put around a whole value only.
  if (isBare && start !== caret.word.start) return [];
  const behind = /^[A-Za-z0-9_]*\s*\}{0,2}/.exec(text.slice(offset).split("\n", 1)[0] ?? "")?.[0] ?? "";
  const replaces = { start, end: offset + behind.length };
  const written = (name: string) => {
    const reference = `\\\${{ env.${name} \\}\\}`;
    return isBare ? `"${reference}"` : reference;
  };
  const prefix = typed.replace(/\.[A-Za-z0-9_]*$/, ".");
  const known = [...variablesOf(text)].sort().map(
    (name): Suggestion => ({
      ...suggestion(`\${{ env.${name} }}`, replaces, prefix + name),
      documentation: `The variable \`${name}\` of the environment in which the service was started. Its value never shows: it is masked.`,
      snippet: written(escapeSnippet(name)),
    }),
  );
  const another: Suggestion = {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the reference that pipeline files are written with.
    ...suggestion("${{ env.… }}", replaces, typed),
    documentation:
      "A variable of the environment in which the service was started. Its value never shows: it is masked.",
    snippet: written("$" + "{1:NAME}"),
  };
  return [...known, another];
}

/** Every environment variable that the file refers to, in whatever place. */
function variablesOf(text: string): ReadonlySet<string> {
  const names = text.split("\n").flatMap((line) => {
    const split = splitReferences(line);
    if (split.kind === "valid")
      return split.pieces.flatMap((piece) => (piece.kind === "variable" ? [piece.name] : []));
    return [...line.matchAll(/\$\{\{\s*env\.([A-Za-z_][A-Za-z0-9_]*)\s*\}\}/g)].map(([, name = ""]) => name);
  });
  return new Set(names);
}

function suggestion(
  label: string,
  replaces: Suggestion["replaces"],
  typedAs: string,
): Omit<Suggestion, "snippet"> {
  return {
    kind: "variable",
    label,
    detail: undefined,
    documentation: undefined,
    replaces,
    typedAs,
    goesOn: false,
  };
}

/** What has to be known before the run, or is shown to people, takes none (the parser: `isFixed`). */
function isFixed(crumbs: readonly Crumb[]): boolean {
  const [top, , field] = crumbs;
  if (top?.kind !== "entry" || !["resources", "steps"].includes(top.entry.name.text)) return true;
  if (crumbs.length !== 3 || field?.kind !== "entry") return false;
  return (top.entry.name.text === "steps" ? ["name", "use"] : ["type"]).includes(field.entry.name.text);
}
