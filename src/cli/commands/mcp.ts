import { name, type ToolCommand, wholeNumber } from "./command.ts";

/** `pipeline mcp`. */
export function addMcpWords(program: ToolCommand): void {
  program
    .add("mcp", {
      summary: "serve coding agents over the Model Context Protocol, on standard input and output",
      description,
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
    .does(async () => {
      const { serveMcp } = await import("../mcp/serveMcp.ts");
      return (tool, { readOnly: isReadOnly = false, maxRuns, reserve = 0, project }: McpFlags) =>
        serveMcp(tool, { isReadOnly, maxRuns, reserve, project });
    });
}

interface McpFlags {
  readonly readOnly?: boolean;
  readonly maxRuns?: number;
  readonly reserve?: number;
  readonly project?: string;
}

const description =
  "Serve coding agents over the Model Context Protocol, on standard input and output.\n\nAn editor or an agent starts it; it ends with its standard input. It uses the service, the key and the project that the other commands use here. Each result has the day's quota in it, and an agent that asks again and again for a slot or for a used-up day is answered without the service.";
