import type { ToolCommand } from "../../src/cli/commands/command.ts";
import { createProgram } from "../../src/cli/program.ts";

/** The tool's words, and each call of a command that they are parsed to. */
export function words(): { readonly program: ToolCommand; readonly called: string[] } {
  const called: string[] = [];
  const program = createProgram({
    version: "0.0.0",
    perform: async (command) => {
      called.push(command);
    },
  });
  return { program, called };
}

/** Every command and group of the program. */
export function allCommands(program: ToolCommand): ToolCommand[] {
  return [program, ...program.commands.flatMap((each) => allCommands(each as ToolCommand))];
}
