// biome-ignore-all lint/suspicious/noTemplateCurlyInString: braces as pipeline files write them.
import { type Expression, type Node, type Reference, references } from "./expression/expression.ts";
import type { ContextName } from "./expression/names.ts";
import { parseExpression, parseText } from "./expression/parseExpression.ts";
import { kindOf } from "./expression/value.ts";
import { isMap } from "./file/checkShape.ts";
import type { ProblemList } from "./file/problemList.ts";
import { hasExpression, onlyPiece, splitText } from "./file/textPieces.ts";
import type { Path } from "./file/yamlSource.ts";
import type { KnownNames, KnownStep } from "./knownNames.ts";
import {
  foreignMember,
  nothingFilledIn,
  type Placeholder,
  placeholderIn,
  variableOf,
} from "./mistakes/foreignWords.ts";
import { quoted, suggestion } from "./mistakes/problem.ts";
import { inQuotes } from "./mistakes/slip.ts";
import type { Input } from "./pipeline.ts";
import {
  eachFields,
  everyResultField,
  inResult,
  ownResultFields,
  resultFields,
  runFields,
} from "./types/resultFields.ts";

/** What a text of the file may contain. */
export type Place =
  | { readonly kind: "fixed" }
  /** The text is an expression itself. */
  | { readonly kind: "expression"; readonly contexts: readonly ContextName[] }
  | {
      readonly kind: "text";
      readonly contexts: readonly ContextName[];
      /** What to do with a context that isn't one of these, as the end of a sentence. */
      readonly instead?: string;
      /** The text is one expression, whose value is a list. */
      readonly isList?: true;
    };

const fixed: Place = { kind: "fixed" };
const outside = ["env", "inputs", "run"] as const;
const inside = ["env", "inputs", "steps", "run"] as const;

/** The parts of a step that decide what its texts may contain. */
type Around = Pick<KnownStep, "type" | "isEach" | "scripts">;

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

/**
 * What the text at a path of the file may contain.
 * @param step the step in which it is.
 */
export function placeOf(path: Path, step?: Around): Place {
  const [top, , field] = path;
  switch (top) {
    case "inputs":
      return path.length === 2 || field === "default" ? { kind: "text", contexts: ["env", "run"] } : fixed;
    case "resources":
      return path.length === 3 && field === "type" ? fixed : { kind: "text", contexts: outside };
    case "outputs":
      return { kind: "text", contexts: inside };
    case "steps":
    case "finally":
      return step === undefined ? fixed : placeInStep(path.slice(2), step);
    default:
      return fixed;
  }
}

/** Whether a path leads into the JSON that a step sends or expects. */
function isJson([list, , field, part]: Path): boolean {
  const isOfStep = list === "steps" || list === "finally";
  return isOfStep && (field === "json" || (field === "expect" && part === "json"));
}

/** Whether a step itself uses a text: a program may have templates of its own, and a reply may be expected to have one. */
function isSent([top, , field]: Path, step: KnownStep | undefined): boolean {
  return top === "resources" || (step !== undefined && step.type !== "cli" && field !== "expect");
}

/** The fields of steps and resources whose values are sent elsewhere. */
const sent: readonly unknown[] = ["form", "multipart", "json", "headers", "query", "cookies", "auth", "env"];

/** The name at or above a path whose value is likely a secret. */
function secretIn([top, , field, ...names]: Path): string | undefined {
  if (top === "inputs" || top === "outputs" || !sent.includes(field)) return undefined;
  return names.map(String).find((name) => /(?:password|token|secret|authorization)$/i.test(name));
}

interface Found {
  readonly at: number;
  readonly problem: string;
}

const described = { text: "a text", number: "a number", boolean: "true or false" } as const;

class Check {
  readonly #file: Readonly<Record<string, unknown>>;
  readonly #names: KnownNames;
  readonly #problems: ProblemList;
  readonly #warnings: ProblemList;
  /** Collected when it is needed. */
  #variables: ReadonlySet<string> | undefined;

  constructor(
    file: Readonly<Record<string, unknown>>,
    names: KnownNames,
    problems: ProblemList,
    warnings: ProblemList,
  ) {
    this.#file = file;
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
      const [found] = parsed.kind === "invalid" ? [parsed] : this.#inReferences(parsed.expression, 0, step);
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
        ? this.#inExpression(text, place.contexts, step)
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
    this.#checkSecret(text, path, place.contexts);
    if (place.instead === byVariable) this.#checkScript(text, path);
    // Double braces may be a template of the program itself.
    if (path[2] === "env") this.#checkPlaceholder(text, path, place, "braces");
    // In JavaScript, `${…}` may be a template of the script itself.
    else if (isSent(path, step))
      this.#checkPlaceholder(text, path, place, place.instead === byWith ? "shell" : undefined);
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
    const found = placeholderIn(words.join("\n"), not);
    if (found === undefined || this.#problems.isFixed(path)) return;
    const message = this.#unfilled(found, place);
    if (!this.#problems.reword(path, message))
      this.#warnings.addIn(path, text.indexOf(found.written), message);
  }

  #unfilled(found: Placeholder, place: Exclude<Place, { kind: "fixed" }>): string {
    const way = (place.kind === "text" ? place.instead : undefined) ?? this.#wayToWrite(found, place);
    return `\`${quoted(found.written)}\` isn't filled in here: ${way}`;
  }

  #wayToWrite(
    { written, name, byDefault }: Placeholder,
    { kind, contexts }: Exclude<Place, { kind: "fixed" }>,
  ): string {
    const asWritten = (expression: string) =>
      kind === "text" ? `\`\${{ ${expression} }}\`` : `\`${expression}\``;
    // runn writes `steps` too, with `res` for a reply.
    const isOurs = new RegExp(`^\\{\\{\\s*(?:${contexts.join("|")})\\.(?!.*\\.res\\b)`).test(written);
    if (isOurs) return `write ${asWritten(quoted(written.slice(2, -2).trim()))}`;
    const variable = `env.${quoted(variableOf(name))}`;
    const ofEnv =
      byDefault === undefined
        ? variable
        : `default(${variable}, '${quoted(byDefault.replaceAll("'", "''"))}')`;
    const ofInputs = asWritten(`inputs.${quoted(name)}`);
    if (this.#names.inputs.has(name)) return `write ${ofInputs}`;
    const ways = [...(variableOf(name) === name ? [] : [ofInputs]), asWritten(ofEnv)];
    if (contexts.includes("steps")) ways.push(`${asWritten("steps.<id>…")} for what an earlier step gave`);
    return `write ${new Intl.ListFormat("en", { type: "disjunction" }).format(ways)}`;
  }

  /** Warns of an input in a field whose name says that it is a secret. */
  #checkSecret(text: string, path: Path, contexts: readonly ContextName[]): void {
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
  #checkScript(script: string, path: Path): void {
    if (this.#file["env-file"] !== undefined) return;
    const found = script.matchAll(/\$\{?([A-Z0-9_]{0,100}(?:PASSWORD|PASSWD|TOKEN|SECRET|API_?KEY))\b/g);
    for (const { 0: written, 1: name = "", index } of found) {
      this.#variables ??= variablesIn(this.#file);
      if (this.#variables.has(name) || setBy(script).has(name)) continue;
      this.#warnings.addIn(
        path,
        index,
        `\`${written}\` sounds like a secret, and only a variable that the file names is masked: add \`env: { ${name}: "\${{ env.${name} }}" }\``,
      );
      return;
    }
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
    const type = parsed.kind === "valid" ? this.#typeOf(parsed.expression.root) : undefined;
    if (type === undefined) return;
    const name = quoted(source.trim());
    this.#problems.addIn(
      path,
      only.at + text.slice(only.at).search(/\S/),
      `\`each\` takes a list, and \`${name}\` is ${described[type]}${type === "text" ? `; one that is written as JSON is read by \`fromJSON(${name})\`` : ""}`,
    );
  }

  /** The type of a node that is only an input or a variable; undefined where only a run knows it. */
  #typeOf(node: Node): Input["type"] | undefined {
    if (node.kind !== "member" || node.of.kind !== "context" || node.key.kind !== "literal") return undefined;
    return node.of.name === "env" || node.of.name === "run"
      ? "text"
      : node.of.name === "inputs"
        ? this.#names.inputs.get(String(node.key.value))
        : undefined;
  }

  /** The parts of a condition that are certainly neither true nor false. */
  #inCondition(node: Node, text: string): readonly Found[] {
    if (node.kind === "not") return this.#inCondition(node.operand, text);
    if (node.kind === "logical") return node.operands.flatMap((operand) => this.#inCondition(operand, text));
    const name = quoted(text.slice(node.at, node.at + node.length));
    if (node.kind === "literal" && typeof node.value !== "boolean") {
      const problem = `\`&&\`, \`||\` and conditions take true and false only, and \`${name}\` is ${kindOf(node.value)}; two steps, each with its \`if\`, choose between values`;
      return [{ at: node.at, problem }];
    }
    const type = this.#typeOf(node);
    if (type === undefined || type === "boolean") return [];
    const example = type === "text" ? `${name} == '…'` : `${name} > 0`;
    return [
      {
        at: node.at,
        problem: `a condition is true or false, and \`${name}\` is ${described[type]}: compare it, such as \`${example}\``,
      },
    ];
  }

  #inExpression(
    text: string,
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
        { at: text.indexOf(found.written), problem: this.#unfilled(found, { kind: "expression", contexts }) },
      ];
    }
    const { expression } = parsed;
    return [...this.#inReferences(expression, 0, step), ...this.#inCondition(expression.root, text)];
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
      const unfit = chosen === undefined ? [] : this.#inCondition(chosen, source);
      const inReferences = this.#inReferences(parsed.expression, at, step);
      return [...inReferences, ...unfit.map((found) => ({ ...found, at: at + found.at }))];
    });
  }

  #inReferences(expression: Expression, from: number, step: KnownStep | undefined): readonly Found[] {
    return references(expression).flatMap((reference) => {
      const found = this.#problemOf(reference, step);
      return found === undefined ? [] : [{ ...found, at: from + found.at }];
    });
  }

  #problemOf({ context, path, at, goesOn }: Reference, step: KnownStep | undefined): Found | undefined {
    const [first, ...rest] = path;
    const asked = first === undefined ? undefined : String(first.name);
    const told = (problem: string): Found => ({ at: first?.at ?? at, problem });
    const unknown = (what: string, known: readonly string[], none: string) =>
      told(
        `${what}${suggestion(asked ?? "", known) || (known.length === 0 ? none : `; there is ${known.map((name) => `\`${name}\``).join(", ")}`)}`,
      );
    switch (context) {
      case "env":
        return first === undefined && goesOn
          ? told("a variable is named in the file, such as `env.SHOP_TOKEN`, so that its value can be masked")
          : undefined;
      case "inputs": {
        const known = [...this.#names.inputs.keys()];
        if (asked === undefined || known.includes(asked)) return undefined;
        return unknown(`there is no input \`${quoted(asked)}\``, known, "; the file has no `inputs`");
      }
      case "run":
        if (asked === undefined || Object.hasOwn(runFields, asked)) return undefined;
        return unknown(`a run has no \`${quoted(asked)}\``, Object.keys(runFields), "");
      case "each":
        if (asked === undefined || Object.hasOwn(eachFields, asked)) return undefined;
        return unknown(`\`each\` has no \`${quoted(asked)}\``, Object.keys(eachFields), "");
      case "this":
        return step === undefined ? undefined : problemOfField(step, path, "this", ownResultFields);
      case "steps": {
        if (asked === undefined) return undefined;
        const known = this.#names.steps.filter(({ id }) => id !== undefined);
        const found = known.find(({ id }) => id === asked);
        if (found === undefined) {
          const ids = [...new Set(known.flatMap(({ id }) => id ?? []))];
          return unknown(`no step has the id \`${quoted(asked)}\``, ids, "; no step has an `id`");
        }
        if (step === found)
          return told(`\`${asked}\` is this step, whose result is \`this\` in \`expect.that\``);
        if (step !== undefined && found.order > step.order)
          return told(`the step \`${asked}\` comes later, so it has no result yet`);
        if (step === undefined && found.list === "finally")
          return told(`\`outputs\` are taken before \`finally\`, so the step \`${asked}\` has no result yet`);
        return problemOfResult(found, rest, `steps.${asked}`);
      }
      default:
        return context satisfies never;
    }
  }
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

/** The `'x'` of `a && 'x' || 'y'`, which is wrong whatever `a` is; an unfit operand of another `&&` or `||` may never count. */
function chosenValue(root: Node): Node | undefined {
  if (root.kind !== "logical" || root.operator !== "||") return undefined;
  const [first, otherwise] = root.operands;
  const chosen = first?.kind === "logical" ? first.operands.at(-1) : undefined;
  return chosen?.kind === "literal" && otherwise?.kind === "literal" ? chosen : undefined;
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

type Names = Reference["path"];

function problemOfResult(step: KnownStep, path: Names, shown: string): Found | undefined {
  if (!step.isEach) return problemOfField(step, path, shown);
  const [first, ...rest] = path;
  if (first === undefined) return undefined;
  if (typeof first.name === "number") return problemOfField(step, rest, `${shown}[${first.name}]`);
  return {
    at: first.at,
    problem: `this step has \`each\`, so \`${shown}\` is a list: \`${shown}[0].${first.name}\`, or \`${shown}.*.${first.name}\` for all`,
  };
}

function problemOfField(
  { type, outputs, read }: KnownStep,
  [field, member]: Names,
  shown: string,
  every: Readonly<Record<string, string>> = everyResultField,
): Found | undefined {
  if (field === undefined) return undefined;
  const name = String(field.name);
  const own = type === undefined ? outputs : Object.keys(resultFields[type]);
  // A part that can't be read, or a resource that isn't known.
  if (own === undefined) return undefined;
  const known = [...own, ...read, ...Object.keys(every)];
  if (!known.includes(name)) {
    const foreign = foreignMember(name, known);
    const near = foreign === undefined ? suggestion(name, known) : `; did you mean \`${foreign}\`?`;
    if (type === undefined && name === "outputs" && member !== undefined)
      return {
        at: field.at,
        problem: `\`${shown}\` has the part's \`outputs\` itself: \`${shown}.${quoted(String(member.name))}\``,
      };
    return {
      at: field.at,
      problem: `\`${shown}\` has no \`${quoted(name)}\`${near || `; it has ${known.map((one) => `\`${one}\``).join(", ")}`}`,
    };
  }
  if (type !== "http" || name !== "headers" || member === undefined) return undefined;
  const header = String(member.name);
  return header === header.toLowerCase()
    ? undefined
    : { at: member.at, problem: `the names of headers are in lower case: \`${header.toLowerCase()}\`` };
}

const byParam = "give it as a param, so that it can't change the statement";
const byVariable =
  'pass it by `env: { NAME: … }` and write `"$NAME"`, so that it can\'t become a part of the script; a list of a program and its arguments takes it too';

const behindShell =
  'pass it by `env: { NAME: … }` and let the script read the variable, such as `"$NAME"`, so that it can\'t become a part of the script';

const byWith =
  "pass it by `with: { name: … }` and write `name`, so that it can't become a part of the script";

function ofEnvironment(instead: string): Place {
  return { kind: "text", contexts: ["env"], instead };
}

function placeInStep(path: Path, { type, isEach, scripts }: Around): Place {
  const [field, part, more, beside] = path;
  const own: readonly ContextName[] = isEach ? [...inside, "each"] : inside;
  if (type === "browser" && path.at(-1) === "css") return fixed;
  switch (field) {
    case undefined:
      return { kind: "text", contexts: own };
    case "name":
    case "use":
    case "mask":
    case "retry":
    case "on-failure":
    case "keep":
    case "file":
      return fixed;
    case "if":
      return { kind: "expression", contexts: inside };
    case "each":
      return { kind: "text", contexts: inside, ...(part === undefined && { isList: true }) };
    case "multipart":
      if (path.length > 2 && path.at(-1) === "file") return fixed;
      break;
    case "expect":
      if (part === "json-schema") return fixed;
      if (part === "that") return { kind: "expression", contexts: [...own, "this"] };
      break;
    case "run":
      if (type === "cli" && part === undefined) return ofEnvironment(byVariable);
      if (type === "cli" && typeof part === "number" && scripts.has(part)) return ofEnvironment(behindShell);
      break;
    case "actions":
    case "read":
      if (type === "browser" && more === "evaluate" && (beside === undefined || beside === "script"))
        return ofEnvironment(byWith);
      break;
    case "query":
      if (type === "sql") return ofEnvironment(byParam);
      break;
    case "statements":
      if (type === "sql" && (more === undefined || more === "query")) return ofEnvironment(byParam);
  }
  return { kind: "text", contexts: own };
}

/** The problem of a text, with what its writer may have meant. */
function problemOfText(problem: string, instead: string | undefined): string {
  if (instead !== undefined && / can't be used here; env can$/.test(problem))
    return `${problem.replace(/; env can$/, "")}: ${instead}`;
  return /^there is no (?!.*did you mean)/.test(problem)
    ? `${problem}; write \`$\${{\` for \`\${{\` itself`
    : problem;
}
