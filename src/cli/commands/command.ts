import { Command, type ErrorOptions, type HelpContext, InvalidArgumentError } from "commander";
import { exitCodes } from "../../contract/errors.ts";
import { withHome } from "../../machine/home.ts";
import { nearestName } from "../../pipeline/mistakes/problem.ts";
import type { OutputFlags } from "../output/output.ts";
import type { CommandName } from "../output/outputs.ts";
import type { Tool } from "../tool.ts";

interface Words {
  /** A clause for the list of commands. */
  readonly summary: string;
  /** The full description; by default the summary. */
  readonly description?: string;
  /** Command lines, each with its purpose. */
  readonly examples?: readonly Example[];
}

type Example = readonly [line: string, purpose: string];

/** Indents a meaning below its term; as wide as the padding that commander puts around a term. */
const indent = "    ";
/** In columns. With less room, a meaning goes below its term. */
const leastMeaning = 24;

/** A command of the tool, with examples in its help. */
export class ToolCommand extends Command {
  examples: readonly Example[] = [];
  #perform: Perform;

  constructor(name: string, perform: Perform) {
    super(name);
    this.#perform = perform;
  }

  override createCommand(name: string): ToolCommand {
    return new ToolCommand(name, this.#perform);
  }

  /** Adds a command below this one. @param name its last word. */
  add(name: string, { summary, description, examples = [] }: Words): ToolCommand {
    const command = this.createCommand(name).copyInheritedSettings(this).helpCommand(false).summary(summary);
    this.addCommand(command);
    command.description(description ?? `${summary[0]?.toUpperCase()}${summary.slice(1)}.`);
    command.examples = examples;
    if (examples.length > 0) command.addSection("Examples", examples);
    command.showHelpAfterError(`See \`pipeline ${command.words()} --help\`.`);
    return command;
  }

  /** Adds a section at the end of the help: terms with their meanings beside them, or below them if a term is too long. */
  addSection(title: string, rows: readonly (readonly [term: string, meaning: string])[]): this {
    return this.addHelpText("after", ({ error }) => {
      const { getErrHelpWidth, getOutHelpWidth } = this.configureOutput();
      const help = this.createHelp();
      help.helpWidth = (error ? getErrHelpWidth?.() : getOutHelpWidth?.()) ?? 80;
      help.minWidthToWrap = leastMeaning;
      const terms = Math.max(0, ...rows.map(([term]) => term.length));
      const isBeside = indent.length + terms + leastMeaning <= help.helpWidth;
      const below = help.helpWidth - indent.length;
      const lines = rows.map(([term, meaning]) =>
        isBeside
          ? help.formatItem(term, terms, meaning, help)
          : `  ${term}\n${indent}${help.boxWrap(meaning, below).replaceAll("\n", `\n${indent}`)}`,
      );
      return `\n${title}:\n${lines.join("\n")}`;
    });
  }

  /**
   * Sets the action.
   * @param load returns the function that takes the options and then the arguments. Its result is the exit code, or nothing for
   * success.
   */
  does<Options, Arguments extends unknown[]>(
    load: () => Promise<
      (tool: Tool, options: Options, ...args: Arguments) => Promise<number> | Promise<void>
    >,
  ): this {
    return this.action((...given: [...Arguments, Options, ToolCommand]) => {
      const options = given.at(-2) as Options;
      const args = given.slice(0, -2) as Arguments;
      return this.#perform(this.words() as CommandName, this.#flags(), async (tool) => {
        const act = await load();
        return (await act(tool, options, ...args)) ?? exitCodes.done;
      });
    });
  }

  /** For an incomplete command, prints the help; with `--json`, reports a usage error instead. */
  override help(context?: HelpContext | ((text: string) => string)): never {
    if (typeof context !== "object" || !context.error) return super.help();
    if (this.#flags().json) return this.error("error: the command is incomplete");
    return super.help();
  }

  /** The deepest command, from this one down, that the words name. */
  below([word, ...rest]: readonly string[]): ToolCommand {
    const found = this.commands.find((each) => each.name() === word);
    return found instanceof ToolCommand ? found.below(rest) : this;
  }

  /** Its words, without the tool's name; empty for the tool itself. */
  words(): string {
    const { parent } = this;
    return parent instanceof ToolCommand ? `${parent.words()} ${this.name()}`.trim() : "";
  }

  /**
   * Reports an unknown command. commander calls it; its own suggestions ignore subcommands, as in `pipeline logs` for `pipeline
   * runs log`.
   */
  unknownCommand(word = this.args[0] ?? ""): never {
    const lastWords = new Map(
      [...this.leaves(), ...this.commands].reverse().map((each) => [each.name(), each]),
    );
    const near = lastWords.get(nearestName(word, lastWords.keys()) ?? "");
    const meant =
      near instanceof ToolCommand
        ? near.words()
        : Object.entries(foreignNames).find(([, theirs]) => theirs.includes(word))?.[0];
    const hint = meant === undefined ? "" : `\n(Did you mean \`pipeline ${meant}\`?)`;
    return this.error(`error: unknown command '${word}'${hint}`);
  }

  /** Also explains how an input is given, since a person may mistake it for an option. */
  override error(message: string, options?: ErrorOptions): never {
    const isInput =
      options?.code === "commander.unknownOption" && this.options.some(({ long }) => long === "--input");
    const [, name] = (isInput && /'--([A-Za-z][^'=]*)/.exec(message)) || [];
    const given = `An input is given by \`--input ${name}=<value>\`${name === "timeout" ? ", the run's time limit by `--time-limit`" : ""}.`;
    const hint = name === undefined ? "" : `\n(${given})`;
    return super.error(`${message}${hint}`, options);
  }

  /** The commands with an action, including this one. */
  leaves(): ToolCommand[] {
    const below = this.commands.filter((each): each is ToolCommand => each instanceof ToolCommand);
    return below.length === 0 ? [this] : below.flatMap((each) => each.leaves());
  }

  #flags(): OutputFlags {
    const { json = false, quiet = false, color = true } = this.optsWithGlobals<Partial<OutputFlags>>();
    return { json, quiet, color };
  }
}

/** What other tools call our commands. */
const foreignNames: Readonly<Record<string, readonly string[]>> = {
  run: ["start", "exec", "trigger"],
  "runs list": ["ps", "jobs", "history"],
  org: ["whoami", "quota", "usage", "limits"],
  validate: ["lint", "check"],
  page: ["open", "ui", "dashboard"],
  "--version": ["version"],
};

/** @returns the exit code. */
type Act = (tool: Tool) => Promise<number>;

/** Runs a command, prints its errors and sets the exit code. */
export type Perform = (command: CommandName, flags: OutputFlags, act: Act) => Promise<void>;

/** Reads a whole number within bounds. */
export function wholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const number = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
    if (number >= least && number <= most) return number;
    throw new InvalidArgumentError(`It should be a whole number from ${least} to ${most}.`);
  };
}

/** Reads a name with a maximum length and without control characters. */
export const name = nameUpTo(200);
/** Reads a path; a leading `~` stands for the home folder. */
export const path = (text: string): string => withHome(text);
/** Reads a key's name. */
export const keyName = nameUpTo(100);

function nameUpTo(longest: number) {
  return (text: string): string => {
    if (text.trim() !== "" && text.length <= longest && !/\p{Cc}/u.test(text)) return text;
    throw new InvalidArgumentError(
      `A name has 1 to ${longest} characters, none of them a control character.`,
    );
  };
}

/** Collects the values of a repeatable option. */
export function names(text: string, before: readonly string[] = []): string[] {
  return [...before, name(text)];
}
