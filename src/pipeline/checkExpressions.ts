// biome-ignore-all lint/suspicious/noTemplateCurlyInString: braces as pipeline files write them.

import { inComparisons } from "./comparisons.ts";
import { type Expression, references } from "./expression/expression.ts";
import type { ContextName } from "./expression/names.ts";
import { parseExpression } from "./expression/parseExpression.ts";
import {
  chosenValue,
  described,
  type Found,
  inCondition,
  inReferences,
  typeOf,
} from "./expressionProblems.ts";
import { isMap } from "./file/checkShape.ts";
import type { ProblemList } from "./file/problemList.ts";
import { hasExpression, onlyPiece, splitText } from "./file/textPieces.ts";
import type { Path } from "./file/yamlSource.ts";
import type { KnownNames, KnownStep } from "./knownNames.ts";
import { LikelySecrets } from "./likelySecrets.ts";
import {
  asksFor,
  handedOnIn,
  insteadOfHandingOn,
  nothingFilledIn,
  type Placeholder,
  placeholderIn,
  variableOf,
  variableOfPath,
} from "./mistakes/foreignWords.ts";
import { quoted } from "./mistakes/problem.ts";
import { inQuotes } from "./mistakes/slip.ts";
import { behindShell, byVariable, byWith, isAddress, isJson, type Place, placeOf } from "./textPlaces.ts";
import { inResult, resultFields } from "./types/resultFields.ts";

/**
 * Checks every text of the file that has expressions, or must have none.
 * @param warnings gets what works but is likely a mistake.
 */
export function checkExpressions(
  value: Readonly<Record<string, unknown>>,
  names: KnownNames,
  problems: ProblemList,
  warnings: ProblemList,
): void {
  const check = new Check(value, names, problems, warnings);
  for (const top of ["env-file", "inputs", "resources", "outputs"]) {
    check.texts(value[top], [top], (path) => placeOf(path));
  }
  for (const list of ["steps", "finally"]) {
    const entries = value[list];
    if (!Array.isArray(entries)) continue;
    for (const [index, entry] of entries.entries()) {
      const step = names.steps.find((known) => known.list === list && known.index === index);
      if (!isMap(entry) || step === undefined) continue;
      check.texts(entry, [list, index], (path) => placeOf(path, step), step);
      check.mask(entry["mask"], [list, index, "mask"], step);
    }
  }
}

/** Whether a step itself uses a text: a program may have templates of its own, and a reply may be expected to have one. */
function isSent([top, , field]: Path, step: KnownStep | undefined): boolean {
  return top === "resources" || (step !== undefined && step.type !== "cli" && field !== "expect");
}

class Check {
  readonly #secrets: LikelySecrets;
  readonly #names: KnownNames;
  readonly #problems: ProblemList;
  readonly #warnings: ProblemList;

  constructor(
    file: Readonly<Record<string, unknown>>,
    names: KnownNames,
    problems: ProblemList,
    warnings: ProblemList,
  ) {
    this.#secrets = new LikelySecrets(file, names, warnings);
    this.#names = names;
    this.#problems = problems;
    this.#warnings = warnings;
  }

  /** @param step the step that the value belongs to; it can't read its own result, nor that of a later one. */
  texts(value: unknown, path: Path, placeOf: (path: Path) => Place, step?: KnownStep): void {
    if (typeof value === "string") this.#text(value, path, placeOf(path), step, false);
    else if (Array.isArray(value)) {
      for (const [index, item] of value.entries()) this.texts(item, [...path, index], placeOf, step);
    } else if (isMap(value)) {
      for (const [name, item] of Object.entries(value)) {
        const at = [...path, name];
        // Outside of JSON, a map with arbitrary names would silently drop it.
        if (name === "__proto__" && !isJson(path)) this.#problems.add(at, "`__proto__` can't be a name");
        this.#text(name, at, placeOf(at), step, true);
        this.texts(item, at, placeOf, step);
      }
    }
  }

  /** Checks how the paths of a step's `mask` begin: if the result had no such field, nothing of it could be shown. */
  mask(names: unknown, path: Path, step: KnownStep): void {
    if (!Array.isArray(names)) return;
    for (const [index, text] of names.entries()) {
      if (typeof text !== "string") continue;
      const parsed = parseExpression(inResult(text), ["this"]);
      const [found] =
        parsed.kind === "invalid" ? [parsed] : inReferences(parsed.expression, 0, step, this.#names);
      if (found === undefined) continue;
      const hasJson = step.type !== undefined && "json" in resultFields[step.type];
      const inJson = hasJson
        ? `; in its JSON it would be \`json.${quoted(text.replace(/^\$\.?/, ""))}\``
        : "";
      this.#problems.add([...path, index], `${found.problem}${inJson}`);
    }
  }

  #text(text: string, path: Path, place: Place, step: KnownStep | undefined, isName: boolean): void {
    // Neither programs nor HTTP accept it; in JSON it is escaped.
    if (!isName && text.includes("\0") && !isJson(path))
      this.#problems.add(path, "this holds a NUL character");
    const found =
      place.kind === "expression" && !isName
        ? this.#inExpression(text, path, place.contexts, step)
        : hasExpression(text)
          ? this.#inText(text, path, place, step)
          : [];
    for (const { at, problem } of found) {
      if (isName) this.#problems.addToName(path, problem);
      else if (at === 0) this.#problems.add(path, problem);
      else this.#problems.addIn(path, at, problem);
    }
    if (isName || place.kind !== "text") return;
    if (found.length === 0 && place.isList) this.#checkList(text, path, place.contexts);
    this.#secrets.inField(text, path, place.contexts);
    if (place.instead === byVariable) this.#secrets.inScript(text, path);
    if (place.instead === byVariable || place.instead === behindShell) this.#checkHandedOn(text, path, step);
    // Double braces may be a template of the program itself.
    if (path[2] === "env") this.#checkPlaceholder(text, path, place, "braces");
    // In JavaScript, `${…}` may be a template of the script itself.
    else if (isSent(path, step))
      this.#checkPlaceholder(text, path, place, place.instead === byWith ? "shell" : undefined);
  }

  /** Warns of a script that passes on values as GitHub Actions does, unless the variable it uses is named in the file. */
  #checkHandedOn(script: string, path: Path, step: KnownStep | undefined): void {
    const set = new Set<string>();
    for (const { 0: written, 1: variable = "", index } of handedOnIn(script)) {
      if (set.has(variable)) continue;
      if (variable !== "" && (asksFor(variable, script) || this.#secrets.hasVariable(variable, script))) {
        set.add(variable);
        continue;
      }
      const result = `steps.${step?.id ?? "<id>"}${step?.isEach ? ".*" : ""}`;
      this.#warnings.addIn(
        path,
        index,
        `\`${written}\` is of GitHub Actions: ${insteadOfHandingOn(written, result)}`,
      );
      return;
    }
  }

  /** Warns of what Postman, Hurl, runn, a shell and others would fill in; if the text has a problem, this is its likely cause. */
  #checkPlaceholder(
    text: string,
    path: Path,
    place: Extract<Place, { kind: "text" }>,
    not?: "braces" | "shell",
  ): void {
    const split = splitText(text);
    const words = (split.kind === "valid" ? split.pieces : []).map((piece) =>
      piece.kind === "words" ? piece.words : "",
    );
    const written = words.join("\n");
    const found = placeholderIn(written, not) ?? (isAddress(path) ? variableOfPath(written) : undefined);
    if (found === undefined || this.#problems.isFixed(path)) return;
    const message = unfilled(found, place, this.#names);
    if (!this.#problems.reword(path, message))
      this.#warnings.addIn(path, text.indexOf(found.written), message);
  }

  /** Checks a text that stands for a list: it has to be one expression, and one that may be a list. */
  #checkList(text: string, path: Path, contexts: readonly ContextName[]): void {
    const split = splitText(text);
    const only = split.kind === "valid" ? onlyPiece(split.pieces) : undefined;
    if (only === undefined || only.kind === "words") {
      const bare = parseExpression(text, contexts);
      const isBare = bare.kind === "valid" && references(bare.expression).length > 0;
      const example = isBare ? text : "steps.a.json.items";
      this.#problems.add(
        path,
        `this takes a list, or one expression that is one: \`\${{ ${quoted(example)} }}\``,
        isBare ? inQuotes(`\${{ ${text} }}`) : undefined,
      );
      return;
    }
    const source = only.kind === "variable" ? `env.${only.name}` : only.source;
    const parsed = parseExpression(source, contexts);
    const type = parsed.kind === "valid" ? typeOf(parsed.expression.root, this.#names) : undefined;
    if (type === undefined) return;
    const name = quoted(source.trim());
    this.#problems.addIn(
      path,
      only.at + text.slice(only.at).search(/\S/),
      `\`each\` takes a list, and \`${name}\` is ${described[type]}${type === "text" ? `; one that is written as JSON is read by \`fromJSON(${name})\`` : ""}`,
    );
  }

  #inExpression(
    text: string,
    path: Path,
    contexts: readonly ContextName[],
    step: KnownStep | undefined,
  ): readonly Found[] {
    if (hasExpression(text)) {
      return [{ at: 0, problem: "this is an expression already: leave out the `${{` and the `}}`" }];
    }
    const parsed = parseExpression(text, contexts);
    if (parsed.kind === "invalid") {
      const found = placeholderIn(text);
      if (found === undefined) return [parsed];
      return [
        {
          at: text.indexOf(found.written),
          problem: unfilled(found, { kind: "expression", contexts }, this.#names),
        },
      ];
    }
    const { expression } = parsed;
    this.#checkComparisons(expression, path, 0, step);
    return [
      ...inReferences(expression, 0, step, this.#names),
      ...inCondition(expression.root, text, this.#names),
    ];
  }

  /** Warns of comparisons whose result is certain. @param from the expression's offset in its text. */
  #checkComparisons({ root, text }: Expression, path: Path, from: number, step: KnownStep | undefined): void {
    for (const { at, problem } of inComparisons(root, text, step, this.#names))
      this.#warnings.addIn(path, from + at, problem);
  }

  #inText(text: string, path: Path, place: Place, step: KnownStep | undefined): readonly Found[] {
    if (place.kind === "fixed")
      return this.#problems.isFixed(path) ? [] : [{ at: 0, problem: nothingFilledIn }];
    const instead = place.kind === "text" ? place.instead : undefined;
    const split = splitText(text);
    if (split.kind === "invalid") return [split];
    return split.pieces.flatMap((piece) => {
      if (piece.kind !== "source") return [];
      const { source, at, scope } = piece;
      // Only this program writes a scope: see `marked`.
      if (scope !== undefined) return [{ at, problem: "`@` can't stand here" }];
      const parsed = parseExpression(source, place.contexts);
      if (parsed.kind === "invalid")
        return [{ at: at + parsed.at, problem: problemOfText(parsed.problem, instead) }];
      const chosen = chosenValue(parsed.expression.root);
      const unfit = chosen === undefined ? [] : inCondition(chosen, source, this.#names);
      this.#checkComparisons(parsed.expression, path, at, step);
      const unknown = inReferences(parsed.expression, at, step, this.#names);
      return [...unknown, ...unfit.map((found) => ({ ...found, at: at + found.at }))];
    });
  }
}

/** The problem of a text, with what its writer may have meant. */
function problemOfText(problem: string, instead: string | undefined): string {
  if (instead !== undefined && / can't be used here; env can$/.test(problem))
    return `${problem.replace(/; env can$/, "")}: ${instead}`;
  return /^there is no (?!.*did you mean)/.test(problem)
    ? `${problem}; write \`$\${{\` for \`\${{\` itself`
    : problem;
}

type FilledPlace = Exclude<Place, { kind: "fixed" }>;

/** The message about a placeholder, with what to write instead. */
function unfilled(found: Placeholder, place: FilledPlace, names: KnownNames): string {
  const way = (place.kind === "text" ? place.instead : undefined) ?? wayToWrite(found, place, names);
  return `\`${quoted(found.written)}\` isn't filled in here: ${way}`;
}

function wayToWrite(
  { written, name, byDefault }: Placeholder,
  { kind, contexts }: FilledPlace,
  names: KnownNames,
): string {
  const asWritten = (expression: string) =>
    kind === "text" ? `\`\${{ ${expression} }}\`` : `\`${expression}\``;
  // runn writes `steps` too, with `res` for a reply.
  const isOurs = new RegExp(`^\\{\\{\\s*(?:${contexts.join("|")})\\.(?!.*\\.res\\b)`).test(written);
  if (isOurs) return `write ${asWritten(quoted(written.slice(2, -2).trim()))}`;
  const variable = `env.${quoted(variableOf(name))}`;
  const ofEnv =
    byDefault === undefined ? variable : `default(${variable}, '${quoted(byDefault.replaceAll("'", "''"))}')`;
  const ofInputs = asWritten(`inputs.${quoted(name)}`);
  if (names.inputs.has(name)) return `write ${ofInputs}`;
  const ways = [...(variableOf(name) === name ? [] : [ofInputs]), asWritten(ofEnv)];
  if (contexts.includes("steps")) ways.push(`${asWritten("steps.<id>…")} for what an earlier step gave`);
  return `write ${new Intl.ListFormat("en", { type: "disjunction" }).format(ways)}`;
}
