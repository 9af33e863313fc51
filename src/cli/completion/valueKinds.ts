import type { Argument, Option } from "commander";
import type { ToolCommand } from "../words/toolCommand.ts";

/** What the values of options and arguments are, as far as it says which there are. */
export type ValueKind =
  | "pipeline"
  | "pipeline-or-file"
  | "project"
  | "org"
  | "key"
  | "run"
  | "run-in-work"
  | "status"
  | "file"
  | "folder"
  | "anything";

export function kindOfOption(option: Option): ValueKind {
  return optionKinds[option.name()] ?? "anything";
}

export function kindOfArgument(command: ToolCommand, argument: Argument): ValueKind {
  return argumentKinds[`${command.words()} ${argument.name()}`] ?? "anything";
}

/** An option of one name means the same in every command. */
const optionKinds: Readonly<Record<string, ValueKind>> = {
  pipeline: "pipeline",
  project: "project",
  org: "org",
  status: "status",
  "data-dir": "folder",
  "stdin-name": "file",
};

const argumentKinds: Readonly<Record<string, ValueKind>> = {
  "run pipeline": "pipeline",
  "runs cancel id": "run-in-work",
  "runs show id": "run",
  "runs log id": "run",
  "validate file": "pipeline-or-file",
  "keys revoke id": "key",
  "backup file": "file",
};
