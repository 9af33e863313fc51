import type { OutputFlags } from "./output.ts";
import type { CommandName } from "./outputs.ts";
import type { Act } from "./perform.ts";
import { listedByDefault } from "./words/listedByDefault.ts";

/** What a line asks for. */
interface PlainLine {
  readonly command: CommandName;
  readonly flags: OutputFlags;
  readonly act: Act;
}

/**
 * Reads a command line that needs no parser: the words of a command that scripts and prompts call again and again, and flags that
 * every command has, each written out. It means what the parser (`program.ts`) makes of it, which takes as long to load as
 * a service does to answer.
 *
 * @returns undefined for every other line.
 */
export function plainLine(line: readonly string[]): PlainLine | undefined {
  const flags = { json: false, quiet: false, color: true };
  const words: string[] = [];
  for (const part of line) {
    switch (part) {
      case "--json":
        flags.json = true;
        break;
      case "-q":
      case "--quiet":
        flags.quiet = true;
        break;
      case "--no-color":
        flags.color = false;
        break;
      default:
        words.push(part);
    }
  }
  const known = commands.find(
    ({ of }) => of.length === words.length && of.every((word, at) => word === words[at]),
  );
  return known === undefined ? undefined : { command: known.command, flags, act: known.act };
}

const commands: readonly (Pick<PlainLine, "command" | "act"> & { readonly of: readonly string[] })[] = [
  {
    of: ["org"],
    command: "org",
    act: async (tool) => (await import("./commands/org.ts")).showOrg(tool),
  },
  {
    of: ["runs", "list"],
    command: "runs list",
    act: async (tool) =>
      (await import("./commands/listRuns.ts")).listRuns(tool, {
        limit: listedByDefault,
        statuses: [],
      }),
  },
];
