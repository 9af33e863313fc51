import { nearestName } from "../../pipeline/nearestName.ts";
import { ToolCommand } from "./toolCommand.ts";

/** `pipeline help`: the same as `--help`, also for a command of two words. */
export function addHelpWords(program: ToolCommand): void {
  program
    .add("help", { summary: "show what a command does", examples: [["pipeline help runs list", ""]] })
    .argument("[command...]", "the command's words")
    .action((words: string[]) => {
      let command = program;
      for (const word of words) {
        const found = command.commands.find((each) => each.name() === word);
        if (!(found instanceof ToolCommand)) {
          const nearest = nearestName(
            word,
            command.commands.map((each) => each.name()),
          );
          const hint = nearest === undefined ? "" : `\n(Did you mean ${nearest}?)`;
          program.error(`error: unknown command '${words.join(" ")}'${hint}`);
        }
        command = found;
      }
      command.help();
    });
}
