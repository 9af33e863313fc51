import { Command } from "commander";
import type { OutputFlags } from "../output.ts";
import type { CommandName } from "../outputs.ts";
import type { Tool } from "../tool.ts";

/** Runs one command; it decides how errors are shown and what the exit code is. */
export type Perform = (
  command: CommandName,
  flags: OutputFlags,
  act: (tool: Tool) => Promise<number>,
) => Promise<void>;

interface Words {
  /** Half a sentence for the list of commands. */
  readonly summary: string;
  /** What the command does, in full; the summary when left out. */
  readonly description?: string;
  /** Command lines as a person would type them, each with what it is for. */
  readonly examples?: readonly Example[];
}

type Example = readonly [line: string, purpose: string];

/** A command of the tool: its words, and the examples that stand below its help. */
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
    const command = this.createCommand(name).copyInheritedSettings(this).summary(summary);
    this.addCommand(command);
    command.description(description ?? `${summary[0]?.toUpperCase()}${summary.slice(1)}.`);
    command.examples = examples;
    if (examples.length > 0) command.addHelpText("after", `\n${examplesText(examples)}`);
    return command;
  }

  /** Says what the command does; its code is loaded only then. @param act gets the options, then the arguments. */
  does<Options, Arguments extends unknown[]>(
    act: (tool: Tool, options: Options, ...args: Arguments) => Promise<number>,
  ): this {
    return this.action((...given: [...Arguments, Options, ToolCommand]) => {
      const options = given.at(-2) as Options;
      const args = given.slice(0, -2) as Arguments;
      return this.#perform(this.#words() as CommandName, this.#flags(), (tool) =>
        act(tool, options, ...args),
      );
    });
  }

  /** The words of the command that a command line means, as far as it names one: `runs cancel`. */
  commandIn(line: readonly string[]): string {
    const [word, ...rest] = line.filter((part) => !part.startsWith("-"));
    const command = this.commands.find((each) => each.name() === word);
    if (!(command instanceof ToolCommand) || word === undefined) return "";
    return `${word} ${command.commandIn(rest)}`.trim();
  }

  /** Its words, without the tool's own name. */
  #words(): string {
    const { parent } = this;
    const isTop = !(parent instanceof ToolCommand) || parent.parent === null;
    return isTop ? this.name() : `${parent.#words()} ${this.name()}`;
  }

  #flags(): OutputFlags {
    const { json = false, quiet = false, color = true } = this.optsWithGlobals<Partial<OutputFlags>>();
    return { json, quiet, color };
  }
}

function examplesText(examples: readonly Example[]): string {
  const width = Math.max(...examples.map(([line]) => line.length));
  return ["Examples:", ...examples.map(([line, purpose]) => `  ${line.padEnd(width)}  ${purpose}`)].join(
    "\n",
  );
}
