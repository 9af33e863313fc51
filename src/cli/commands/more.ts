import { Argument } from "commander";
import type { Shell } from "../completion/scripts.ts";
import { name, type ToolCommand, wholeNumber } from "./command.ts";

/** `pipeline mcp`, `completion` and `help`. */
export function addMoreCommands(program: ToolCommand): void {
  program
    .add("mcp", {
      summary: "serve coding agents over the Model Context Protocol, on standard input and output",
      description: mcpDescription,
      examples: [
        ["pipeline mcp", "for the project that it is started in"],
        ["pipeline mcp --read-only", "agents can look at runs, and start and cancel none"],
        ["pipeline mcp --max-runs 5 --reserve 10", "they start five at most, and leave ten of the day"],
      ],
    })
    .option("--read-only", "without the tools that start and cancel runs")
    .option("--max-runs <n>", "how many runs agents may start until it ends", wholeNumber(0, 100_000))
    .option("--reserve <n>", "how many of the day's runs agents leave to people", wholeNumber(0, 100_000))
    .option("--project <name>", "the project's name, when it isn't the folder's", name)
    .does(async () => (await import("../mcp/serveMcp.ts")).serveMcp);

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

  // The same as `--help`, even for a subcommand.
  program
    .add("help", { summary: "show what a command does", examples: [["pipeline help runs list", ""]] })
    .argument("[command...]", "the command")
    .action((words: string[]) => {
      const command: ToolCommand = program.below(words);
      const known = command.words().split(" ");
      const unknown = words.find((word, index) => word !== known[index]);
      if (unknown === undefined) command.help();
      command.unknownCommand(unknown);
    });
}

const mcpDescription =
  "Serve coding agents over the Model Context Protocol, on standard input and output.\n\nAn editor or an agent starts it; it ends with its standard input. It uses the service, the key and the project that the other commands use here. Each result has the day's quota in it, and an agent that asks again and again for a slot or for a used-up day is answered without the service.";

const shells = ["bash", "zsh", "fish"] as const satisfies readonly Shell[];

/** The command that completion scripts call; not for people. */
export const tabWord = "__complete";
