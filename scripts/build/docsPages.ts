import type { ToolCommand } from "../../src/cli/commands/command.ts";
import { createProgram } from "../../src/cli/program.ts";
import { whatCounts } from "../../src/service/page/whatCounts.ts";

/** The pages of `docs/` that are made from the code, by their names. */
export function docsPages(): ReadonlyMap<string, string> {
  return new Map([
    ["commands.md", commandsPage()],
    ["what-counts.md", whatCountsPage()],
  ]);
}

function whatCountsPage(): string {
  const { title, rule, counts, doesNotCount, day } = whatCounts;
  const list = (items: readonly string[]) => items.map((item) => `- ${item}\n`).join("");
  return `# ${title}\n\n${rule}\n\n## Counts\n\n${list(counts)}\n## Doesn't count\n\n${list(doesNotCount)}\n## The day\n\n${day}\n`;
}

/** Every command with its help. */
function commandsPage(): string {
  const program = createProgram({ version: "0.0.0", perform: async () => {} });
  const parts = program.leaves().map((command) => {
    return `## \`pipeline ${command.words()}\`\n\n\`\`\`text\n${helpOf(command)}\n\`\`\`\n`;
  });
  return [
    "# The tool's commands",
    "",
    "What `--help` shows of each command, written here by `node scripts/docsPages.ts`. [The tool](tool.md) says how they are used.",
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
