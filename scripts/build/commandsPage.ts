import type { ToolCommand } from "../../src/cli/commands/command.ts";
import { createProgram } from "../../src/cli/program.ts";

/** The page of the docs that has every command with its help, `docs/commands.md`. */
export function commandsPage(): string {
  const program = createProgram({ version: "0.0.0", env: {}, perform: async () => {} });
  const parts = program.leaves().map((command) => {
    return `## \`pipeline ${command.words()}\`\n\n\`\`\`text\n${helpOf(command)}\n\`\`\`\n`;
  });
  return [
    "# The tool's commands",
    "",
    "What `--help` shows of each command, written here by `node scripts/commandsPage.ts`. [The tool](tool.md) says how they are used.",
    "",
    "```text",
    helpOf(program),
    "```",
    "",
    parts.join("\n"),
  ].join("\n");
}

/** What `--help` prints where lines have 80 columns. */
function helpOf(command: ToolCommand): string {
  let printed = "";
  command.configureOutput({
    ...command.configureOutput(),
    writeOut: (text) => {
      printed += text;
    },
    getOutHelpWidth: () => 80,
  });
  command.outputHelp();
  return printed.trimEnd();
}
