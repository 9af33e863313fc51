import { environmentVariables } from "./words/environmentVariables.ts";
import { exitCodeMeanings } from "./words/exitCodeMeanings.ts";
import type { ToolCommand } from "./words/toolCommand.ts";

/** pipeline(1) in roff, made of the words that the help is made of. */
export function manPage(program: ToolCommand, version: string): string {
  const help = program.createHelp();
  return [
    `.TH PIPELINE 1 "" ${quoted(`pipeline ${version}`)} "User Commands"`,
    ".SH NAME",
    `pipeline \\- ${text(decapitalised(program.description()).replace(/\.$/, ""))}`,
    ".SH SYNOPSIS",
    ".B pipeline",
    "[options] <command> [<argument> ...]",
    ".SH OPTIONS",
    "These can stand anywhere on the line.",
    ...help.visibleOptions(program).flatMap(({ flags, description }) => entry(flags, description)),
    ".SH COMMANDS",
    ...program.leaves().flatMap((command) => commandPart(command)),
    ".SH EXIT STATUS",
    ...exitCodeMeanings.flatMap(([code, meaning]) => entry(String(code), meaning)),
    ".SH ENVIRONMENT",
    ...environmentVariables.flatMap(([name, meaning]) => entry(name, meaning)),
    ".SH FILES",
    ...entry("pipelines/*.yaml", "the pipelines of a project, in its root folder"),
    "",
  ].join("\n");
}

function commandPart(command: ToolCommand): string[] {
  const help = command.createHelp();
  const options = help.visibleOptions(command).filter(({ long }) => long !== "--help");
  return [
    `.SS ${quoted(`pipeline ${command.words()} ${command.usage()}`.replace(" [options]", ""))}`,
    ...paragraphs(command.description()),
    ...command.registeredArguments.flatMap((argument) =>
      entry(help.argumentTerm(argument), help.argumentDescription(argument)),
    ),
    ...options.flatMap((option) => entry(option.flags, help.optionDescription(option))),
    ...command.examples.flatMap(([line, purpose]) => [
      ".PP",
      ...(purpose === "" ? [] : [`${text(capitalised(purpose))}:`]),
      ".RS",
      ".nf",
      text(line),
      ".fi",
      ".RE",
    ]),
  ];
}

function paragraphs(description: string): string[] {
  return description
    .split("\n\n")
    .flatMap((part, index) => [...(index > 0 ? [".PP"] : []), text(part.replaceAll("\n", " "))]);
}

function entry(term: string, meaning: string): string[] {
  return [".TP", `.B ${text(term)}`, text(capitalised(meaning))];
}

/** A line of text in which roff finds nothing to do; hyphens stay what a person can paste. */
function text(line: string): string {
  const escaped = line
    .replaceAll("\\", "\\e")
    .replaceAll("-", "\\-")
    .replaceAll("~", "\\(ti")
    .replaceAll("`", "\\(ga");
  return escaped.replaceAll("^", "\\(ha").replace(/^[.']/, "\\&$&");
}

function quoted(line: string): string {
  return `"${text(line).replaceAll('"', '""')}"`;
}

function capitalised(line: string): string {
  return `${line[0]?.toUpperCase() ?? ""}${line.slice(1)}`;
}

function decapitalised(line: string): string {
  return `${line[0]?.toLowerCase() ?? ""}${line.slice(1)}`;
}
