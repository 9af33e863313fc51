import type { Argument, Option } from "commander";
import type { ToolCommand } from "../commands/command.ts";

/** A possible word at the cursor. */
export interface Candidate {
  readonly word: string;
  /** Shown beside the word, except in bash. */
  readonly meaning?: string;
}

/** What completes the word at the cursor: known words, or a value of some kind. */
export type Wanted = {
  /** The part of the word before the value: `--project=`. */
  readonly lead: string;
} & (
  | { readonly kind: "words"; readonly words: readonly Candidate[] }
  | {
      readonly kind: "value";
      readonly value: ValueKind;
      /** The command's arguments so far; none is offered twice. */
      readonly given: readonly string[];
      /** All of the command's arguments. */
      readonly args: readonly string[];
      /** The options' values so far, by long name without dashes. */
      readonly options: ReadonlyMap<string, string>;
    }
);

/** @param before the words before the cursor's, without the tool's name. */
export function wantedWord(program: ToolCommand, before: readonly string[], current: string): Wanted {
  const parsed = parseLine(program, before);
  const { command, awaiting, onlyArguments, given, used, values } = parsed;
  const value = (kind: ValueKind, lead = ""): Wanted => ({
    kind: "value",
    value: kind,
    lead,
    given: awaiting === undefined && lead === "" ? given : [],
    args: given,
    options: values,
  });
  if (awaiting !== undefined) return ofChoices(awaiting) ?? value(kindOfOption(awaiting));
  if (!onlyArguments && current.startsWith("-")) {
    const [flag = "", attached] = splitFlag(current);
    const option = attached === undefined ? undefined : optionOf(command, flag);
    if (option === undefined) return words(optionWords(command, used));
    const lead = `${flag}=`;
    return ofChoices(option, lead) ?? value(kindOfOption(option), lead);
  }
  if (command.words() === "help") return words(commandWords(program.below(given)));
  if (command.commands.length > 0) return words(given.length === 0 ? commandWords(command) : []);
  const argument = argumentAt(command, given.length);
  if (argument === undefined) return words([]);
  return ofChoices(argument) ?? value(kindOfArgument(command, argument));
}

interface ParsedLine {
  readonly command: ToolCommand;
  /** The option whose value comes next. */
  readonly awaiting: Option | undefined;
  readonly onlyArguments: boolean;
  readonly given: readonly string[];
  readonly used: ReadonlySet<Option>;
  readonly values: ReadonlyMap<string, string>;
}

function parseLine(program: ToolCommand, line: readonly string[]): ParsedLine {
  let command = program;
  let awaiting: Option | undefined;
  let onlyArguments = false;
  const given: string[] = [];
  const used = new Set<Option>();
  const values = new Map<string, string>();
  for (const word of line) {
    if (awaiting !== undefined) {
      values.set(awaiting.name(), word);
      awaiting = undefined;
    } else if (!onlyArguments && word === "--") {
      onlyArguments = true;
    } else if (!onlyArguments && word.startsWith("-") && word !== "-") {
      const [flag, attached] = splitFlag(word);
      const option = optionOf(command, flag);
      if (option === undefined) continue;
      used.add(option);
      if (attached !== undefined) values.set(option.name(), attached);
      else if (option.required) awaiting = option;
    } else {
      const next = given.length === 0 && !onlyArguments ? command.below([word]) : command;
      if (next === command) given.push(word);
      command = next;
    }
  }
  return { command, awaiting, onlyArguments, given, used, values };
}

function splitFlag(word: string): [flag: string, value: string | undefined] {
  const at = word.startsWith("--") ? word.indexOf("=") : -1;
  return at === -1 ? [word, undefined] : [word.slice(0, at), word.slice(at + 1)];
}

function argumentAt(command: ToolCommand, index: number): Argument | undefined {
  const last = command.registeredArguments.at(-1);
  return command.registeredArguments[index] ?? (last?.variadic ? last : undefined);
}

function optionOf(command: ToolCommand, flag: string): Option | undefined {
  return optionsOf(command).find((option) => option.long === flag || option.short === flag);
}

/** The command's own and the global options. */
function optionsOf(command: ToolCommand): Option[] {
  const help = command.createHelp();
  return [...help.visibleOptions(command), ...help.visibleGlobalOptions(command)];
}

function optionWords(command: ToolCommand, used: ReadonlySet<Option>): Candidate[] {
  return optionsOf(command)
    .filter((option) => option.variadic || !used.has(option))
    .map((option) => ({ word: option.long ?? option.short ?? "", meaning: option.description }));
}

function commandWords(command: ToolCommand): Candidate[] {
  const commands = command.createHelp().visibleCommands(command);
  return commands.map((each) => ({ word: each.name(), meaning: each.summary() }));
}

function ofChoices({ argChoices }: Argument | Option, lead = ""): Wanted | undefined {
  return (
    argChoices &&
    words(
      argChoices.map((word) => ({ word })),
      lead,
    )
  );
}

function words(candidates: readonly Candidate[], lead = ""): Wanted {
  return { kind: "words", words: candidates, lead };
}

/** The kinds of option values and arguments that can be completed. */
export type ValueKind =
  | "pipeline"
  | "pipeline-or-file"
  | "project"
  | "run"
  | "run-in-work"
  | "artifact"
  | "step"
  | "status"
  | "input"
  | "tag"
  | "file"
  | "folder"
  | "anything";

export function kindOfOption(option: Option): ValueKind {
  return optionKinds[option.name()] ?? "anything";
}

export function kindOfArgument(command: ToolCommand, argument: Argument): ValueKind {
  return argumentKinds[`${command.words()} ${argument.name()}`] ?? "anything";
}

/** By option name, which means the same in every command. */
const optionKinds: Readonly<Record<string, ValueKind>> = {
  pipeline: "pipeline",
  project: "project",
  status: "status",
  step: "step",
  input: "input",
  tag: "tag",
  "data-dir": "folder",
  to: "folder",
  "stdin-name": "file",
  junit: "file",
  html: "file",
};

const argumentKinds: Readonly<Record<string, ValueKind>> = {
  "run pipeline": "pipeline",
  "runs cancel id": "run-in-work",
  "page id": "run",
  "runs show id": "run",
  "runs log id": "run",
  "runs diff id": "run",
  "runs file id": "run",
  "runs download id": "run",
  "runs download name": "artifact",
  "validate file": "pipeline-or-file",
  "backup file": "file",
};

/** A bash command line up to the cursor. */
interface BashLine {
  /** The words before the one at the cursor, without quotes. */
  readonly before: readonly string[];
  /** The word at the cursor, without quotes. */
  readonly current: string;
  /** The part of the word that bash keeps and appends the completion to. */
  readonly prefix: string;
  /** The quote that is open at the cursor. */
  readonly quote: "" | "'" | '"';
}

/** What separates words in bash. A no-break space or a byte order mark does not. */
const blanks = " \t\n";

/**
 * Splits a line into words as bash does, without expansions. `COMP_WORDS` is no substitute: it also splits at colons and
 * equals signs, and keeps quotes.
 * @param breaks bash's `COMP_WORDBREAKS`: bash completes only what follows the last of these characters.
 */
export function readBashLine(line: string, breaks: string): BashLine {
  const before: string[] = [];
  let word: string | undefined;
  let prefix = "";
  let quote: BashLine["quote"] = "";
  for (let at = 0; at < line.length; at += 1) {
    const character = line[at] ?? "";
    if (quote === "" && blanks.includes(character)) {
      if (word !== undefined) before.push(word);
      word = undefined;
      prefix = "";
      continue;
    }
    word ??= "";
    if (quote === "" && (character === "'" || character === '"')) {
      quote = character;
      prefix = word;
    } else if (character === quote) {
      quote = "";
    } else if (character === "\\" && quote !== "'") {
      at += 1;
      const next = line[at] ?? "";
      word += quote === '"' && !/["\\$`]/.test(next) ? `\\${next}` : next;
    } else {
      word += character;
      if (quote === "" && breaks.includes(character)) prefix = word;
    }
  }
  return { before, current: word ?? "", prefix, quote };
}

/** The text that bash inserts for a word, quoted like the word at the cursor. */
export function bashWord(word: string, { prefix, quote }: BashLine): string {
  const rest = word.startsWith(prefix) ? word.slice(prefix.length) : word;
  switch (quote) {
    case "'":
      return rest.replaceAll("'", "'\\''");
    case '"':
      return rest.replace(/["\\$`]/g, "\\$&");
    case "":
      return rest.replace(/[^\w@%+=:,./\u0080-\u{10ffff}-]/gu, "\\$&");
  }
}
