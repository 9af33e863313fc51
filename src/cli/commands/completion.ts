import { Argument } from "commander";
import type { Shell } from "../completion/scripts.ts";
import type { ToolCommand } from "./command.ts";

/** `pipeline completion`. */
export function addCompletionWords(program: ToolCommand): void {
  program
    .add("completion", {
      summary: "print the script that completes words in a shell",
      description:
        "Print the script that lets a shell complete commands, options, pipelines, runs and projects when Tab is pressed.",
      examples: [
        ['eval "$(pipeline completion bash)"', "for bash, in ~/.bashrc"],
        ['eval "$(pipeline completion zsh)"', "for zsh, in ~/.zshrc behind compinit"],
        ["pipeline completion fish > ~/.config/fish/completions/pipeline.fish", "for fish, once"],
      ],
    })
    .addArgument(new Argument("<shell>", "the shell").choices(shells))
    .does(async () => (await import("../completion/scripts.ts")).printCompletion);
}

const shells = ["bash", "zsh", "fish"] as const satisfies readonly Shell[];

/** The command that completion scripts call; not for people. */
export const tabWord = "__complete";
