import type { Argument, Option } from "commander";
import type { ToolCommand } from "../commands/command.ts";

/** A possible word at the cursor. */
export interface Candidate {
  readonly word: string;
  /** Shown beside the word, except in bash. */
  readonly meaning?: string;
}

/** What completes the word at the cursor. */
export interface Wanted {
  /** Known words, or the name of what the value is for: an option, or an argument such as `runs show id`. */
  readonly of: readonly Candidate[] | string;
  /** The part of the word before the value: `--project=`. */
  readonly lead: string;
  /** Words that are not offered again. */
  readonly given: readonly string[];
  /** The command's arguments so far. */
  readonly args: readonly string[];
  /** The options' values so far, by long name without dashes. */
  readonly options: ReadonlyMap<string, string>;
}

/** @param before the words before the cursor's, without the tool's name. */
export function wantedWord(program: ToolCommand, before: readonly string[], current: string): Wanted {
  const { command, awaiting, onlyArguments, args, used, options } = parseLine(program, before);
  const wanted = (of: Wanted["of"], lead = "", given: readonly string[] = []): Wanted => {
    return { of, lead, given, args, options };
  };
  if (awaiting !== undefined) return wanted(choicesOf(awaiting) ?? awaiting.name());
  if (!onlyArguments && current.startsWith("-")) {
    const [flag, attached] = splitFlag(current);
    const option = attached === undefined ? undefined : optionOf(command, flag);
    if (option === undefined) return wanted(optionWords(command, used));
    return wanted(choicesOf(option) ?? option.name(), `${flag}=`);
  }
  if (command.words() === "help") return wanted(commandWords(program.below(args)));
  if (command.commands.length > 0) return wanted(args.length === 0 ? commandWords(command) : []);
  const argument = argumentAt(command, args.length);
  if (argument === undefined) return wanted([]);
  return wanted(choicesOf(argument) ?? `${command.words()} ${argument.name()}`, "", args);
}

function parseLine(program: ToolCommand, line: readonly string[]) {
  let command = program;
  /** The option whose value comes next. */
  let awaiting: Option | undefined;
  let onlyArguments = false;
  const args: string[] = [];
  const used = new Set<Option>();
  const options = new Map<string, string>();
  for (const word of line) {
    if (awaiting !== undefined) {
      options.set(awaiting.name(), word);
      awaiting = undefined;
    } else if (!onlyArguments && word === "--") {
      onlyArguments = true;
    } else if (!onlyArguments && word.startsWith("-") && word !== "-") {
      const [flag, attached] = splitFlag(word);
      const option = optionOf(command, flag);
      if (option === undefined) continue;
      used.add(option);
      if (attached !== undefined) options.set(option.name(), attached);
      else if (option.required) awaiting = option;
    } else {
      const next = args.length === 0 && !onlyArguments ? command.below([word]) : command;
      if (next === command) args.push(word);
      command = next;
    }
  }
  return { command, awaiting, onlyArguments, args, used, options };
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

function choicesOf({ argChoices }: Argument | Option): readonly Candidate[] | undefined {
  return argChoices?.map((word) => ({ word }));
}

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

/** What separates words in bash. A no-break space or a byte order mark doesn't. */
const blanks = " \t\n";

/**
 * Splits a line into words as bash does, without expansions. `COMP_WORDS` won't do: it also splits at colons and equals signs,
 * and keeps quotes.
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
