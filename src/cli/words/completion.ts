import { Argument } from "commander";
import { shells } from "../completion/shells.ts";
import type { ToolCommand } from "./toolCommand.ts";

/** `pipeline completion`. */
export function addCompletionWords(program: ToolCommand): void {
  program
    .add("completion", {
      summary: "print the script that completes words in a shell",
      description:
        "Print the script that lets a shell complete commands, options, pipelines, runs, projects and orgs when Tab is pressed.",
      examples: [
        ['eval "$(pipeline completion bash)"', "for bash, in ~/.bashrc"],
        ['eval "$(pipeline completion zsh)"', "for zsh, in ~/.zshrc behind compinit"],
        ["pipeline completion fish > ~/.config/fish/completions/pipeline.fish", "for fish, once"],
      ],
    })
    .addArgument(new Argument("<shell>", "the shell").choices(shells))
    .does(async (tool, _options: object, shell: (typeof shells)[number]) => {
      const { printCompletion } = await import("../commands/printCompletion.ts");
      return printCompletion(tool, shell);
    });
}
