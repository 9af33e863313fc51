// biome-ignore-all lint/suspicious/noTemplateCurlyInString: braces as pipeline files write them.
import { references } from "./expression/expression.ts";
import type { ContextName } from "./expression/names.ts";
import { parseText } from "./expression/parseExpression.ts";
import type { ProblemList } from "./file/problemList.ts";
import type { Path } from "./file/yamlSource.ts";
import type { KnownNames } from "./knownNames.ts";
import { quoted } from "./mistakes/problem.ts";

/** Warns of what is likely a secret and isn't masked. */
export class LikelySecrets {
  readonly #file: Readonly<Record<string, unknown>>;
  readonly #names: KnownNames;
  readonly #warnings: ProblemList;
  /** Collected when it is needed. */
  #variables: ReadonlySet<string> | undefined;

  constructor(file: Readonly<Record<string, unknown>>, names: KnownNames, warnings: ProblemList) {
    this.#file = file;
    this.#names = names;
    this.#warnings = warnings;
  }

  /** Warns of an input in a field whose name says that it is a secret. */
  inField(text: string, path: Path, contexts: readonly ContextName[]): void {
    const name = secretIn(path);
    if (name === undefined) return;
    const parsed = parseText(text, contexts);
    for (const piece of parsed.kind === "valid" ? parsed.pieces : []) {
      const used = piece.kind === "expression" ? references(piece.expression) : [];
      const input = used.find(
        ({ context, path: [first] }) =>
          context === "inputs" && this.#names.inputs.get(String(first?.name)) === "text",
      );
      if (piece.kind !== "expression" || input === undefined) continue;
      const variable = name.toUpperCase().replace(/\W+/g, "_");
      this.#warnings.addIn(
        path,
        piece.at + input.at,
        `an input is shown and kept with the run, and \`${quoted(name)}\` sounds like a secret: a variable is masked, such as \`\${{ env.${quoted(variable)} }}\``,
      );
    }
  }

  /** Warns of a variable of a script that sounds like a secret and isn't masked, since the file doesn't name it. */
  inScript(script: string, path: Path): void {
    if (this.#file["env-file"] !== undefined) return;
    const found = script.matchAll(/\$\{?([A-Z0-9_]{0,100}(?:PASSWORD|PASSWD|TOKEN|SECRET|API_?KEY))\b/g);
    for (const { 0: written, 1: name = "", index } of found) {
      if (this.hasVariable(name, script)) continue;
      this.#warnings.addIn(
        path,
        index,
        `\`${written}\` sounds like a secret, and only a variable that the file names is masked: add \`env: { ${name}: "\${{ env.${name} }}" }\``,
      );
      return;
    }
  }

  /** Whether the file names a variable, or the script itself sets it. */
  hasVariable(name: string, script: string): boolean {
    this.#variables ??= variablesIn(this.#file);
    return this.#variables.has(name) || setBy(script).has(name);
  }
}

/** The fields of steps and resources whose values are sent elsewhere. */
const sent: readonly unknown[] = ["form", "multipart", "json", "headers", "query", "cookies", "auth", "env"];

/** The name at or above a path whose value is likely a secret. */
function secretIn([top, , field, ...names]: Path): string | undefined {
  if (top === "inputs" || top === "outputs" || !sent.includes(field)) return undefined;
  return names.map(String).find((name) => /(?:password|token|secret|authorization)$/i.test(name));
}

/** What may be the name of a variable in a file: names of members, texts such as those of `unmasked`, and what follows `env.`. */
function variablesIn(file: unknown): ReadonlySet<string> {
  const found = new Set<string>();
  const rest = [file];
  // What aliases repeat is visited once.
  const seen = new Set<unknown>();
  for (let value = rest.pop(); value !== undefined || rest.length > 0; value = rest.pop()) {
    if (typeof value === "string") {
      if (value.length <= 100) found.add(value);
      for (const [, name = ""] of value.matchAll(/\benv\.(\w+)/g)) found.add(name);
    } else if (typeof value === "object" && value !== null && !seen.has(value)) {
      seen.add(value);
      if (!Array.isArray(value)) for (const name of Object.keys(value)) found.add(name);
      rest.push(...Object.values(value));
    }
  }
  return found;
}

/** The variables that a script of a shell sets itself. */
function setBy(script: string): ReadonlySet<string> {
  const found = new Set<string>();
  for (const [, name = "", words = ""] of script.matchAll(/\b([A-Z]\w*):?=|\b(?:read|for)\b([^\n;|&<]*)/g)) {
    found.add(name);
    for (const word of words.split(/\s+/)) found.add(word);
  }
  return found;
}
