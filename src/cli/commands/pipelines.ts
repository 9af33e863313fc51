import { name, names, type ToolCommand } from "./command.ts";

/** `pipeline pipelines` and `pipeline validate`. */
export function addPipelineWords(program: ToolCommand): void {
  program
    .add("pipelines", {
      summary: "list pipelines with their resource types and problems",
      description:
        "List pipelines with their resource types and problems.\n\nIn a project, those of its files, which needs no service; elsewhere, and with --all, --project or another service in use, those that the service knows.",
      examples: [
        ["pipeline pipelines", "those of the project that you are in"],
        ["pipeline pipelines --all", "those of every project that the service knows"],
      ],
    })
    .option("--project <name>", "only those of one project", name)
    .option("--all", "those of every project that the service knows")
    .option("--tag <tag>", "only those that have this tag; as often as needed, for any of several", names)
    .does(async () => (await import("./listPipelines.ts")).listPipelines);

  program
    .add("validate", {
      summary: "show the problems of pipeline files, with line and column",
      description:
        "Show every problem of pipeline files with its line and column: of those that are named, else of all in the project.\n\nThe exit code is 1 when there is one, 2 when a file isn't there. It needs no service.",
      examples: [
        ["pipeline validate", "every pipeline of the project"],
        ["pipeline validate hello nightly", "two of them, by their names"],
        ["pipeline validate ../other/pipelines/build.yaml", "a file, wherever it is"],
        ["pipeline validate - --stdin-name build.yaml < build.yaml", "unsaved text of an editor"],
      ],
    })
    .argument("[file...]", "paths of files, names of the project's pipelines, or - for standard input")
    .option("--stdin-name <file>", "the name of standard input in messages")
    .does(async () => (await import("./validate.ts")).validate);
}
