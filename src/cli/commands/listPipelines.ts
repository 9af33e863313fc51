import { isServiceNamed } from "../../client/logins/logins.ts";
import { findProject, misnamedFiles, registerProject } from "../../client/project.ts";
import type { DeclaredInput, PipelineEntry } from "../../contract/pipelines.ts";
import { quoted } from "../../pipeline/mistakes/problem.ts";
import { listedFiles, projectFiles } from "../../project/pipelineFiles.ts";
import { replaceControlCharacters } from "../../text/controlCharacters.ts";
import { counted } from "../../text/counted.ts";
import { hasTag, knownTags, misnamedText, untoldTags } from "../run/namedPipelines.ts";
import { rowsFor } from "../terminal/terminal.ts";
import type { Tool } from "../tool.ts";

interface ListOptions {
  readonly project?: string | undefined;
  readonly all?: boolean;
  readonly tag?: readonly string[];
}

/**
 * `pipeline pipelines`: lists the project's files, which needs no service. Outside a project, for another project, or if another
 * machine's service is in use, lists the service's pipelines.
 * @throws PipelineError as `ServiceClient`.
 */
export async function listPipelines(tool: Tool, options: ListOptions): Promise<void> {
  const { output } = tool;
  const { tag: tags } = options;
  const listed = await pipelinesOf(tool, options);
  const pipelines = tags === undefined ? listed : listed.filter((entry) => hasTag(entry, tags));
  const misnamed = await misnamedFiles(tool.folder);
  if (misnamed.length > 0) output.warn(misnamedText(misnamed));
  tell(tool, pipelines);
  const broken = listed.filter(({ problem }) => problem !== undefined);
  // The tags of a broken file aren't known, so the list may lack its pipeline.
  if (tags !== undefined && broken.length > 0) output.warn(untoldTags(broken));
  if (pipelines.length > 0 || output.json) return;
  if (tags === undefined) await tellWhere(tool, options.project);
  else if (broken.length === 0) output.note(knownTags(listed));
}

/** Says where no pipelines were found, and which files are here. */
async function tellWhere({ env, folder, output, connect }: Tool, project: string | undefined): Promise<void> {
  const service = (await isServiceNamed(env)) ? (await connect()).baseUrl.host : "This machine's service";
  const whose = project === undefined ? "" : ` of the project ${project}`;
  output.note(`${service} knows no pipelines${whose} yet. The first start in a project's folder tells it.`);
  const here = await findProject(folder);
  if (here === undefined) {
    output.note(`There is no pipelines/<name>.yaml in ${folder} or above.`);
    return;
  }
  const files = (await projectFiles(here.root)).map(({ path }) => path);
  output.note(`In ${here.root}: ${files.join(", ")}.`);
}

/** The pipelines to list. @throws as `ServiceClient`. */
export async function pipelinesOf(
  tool: Tool,
  { all = false, project }: ListOptions,
): Promise<readonly PipelineEntry[]> {
  const here = await findProject(tool.folder);
  const own = (await isServiceNamed(tool.env)) ? undefined : here;
  if (own !== undefined && !all && (project ?? own.name) === own.name) {
    return (await listedFiles(own.root)).map((file) => ({ ...file, project: own.name }));
  }
  const client = await tool.connect();
  // Registered as by `pipeline run`, so that the list shows what can be run.
  if (own !== undefined && project === undefined) await registerProject(client, own, tool.interrupted);
  return (await client.pipelines(project, tool.interrupted)).pipelines;
}

function tell({ output }: Tool, pipelines: readonly PipelineEntry[]): void {
  const { style } = output.out;
  const projects = new Set(pipelines.map(({ project }) => project));
  const hasTags = pipelines.some(({ tags = [] }) => tags.length > 0);
  const hasInputs = pipelines.some(({ inputs = [] }) => inputs.length > 0);
  const rows = pipelines.map(
    ({ name, project = "", resourceTypes: types = [], tags = [], inputs = [], problem }) => [
      replaceControlCharacters(name),
      ...(projects.size > 1 ? [replaceControlCharacters(project)] : []),
      types.map(replaceControlCharacters).join(", "),
      problem === undefined ? style.good("fine") : style.bad(stateOf(problem)),
      ...(hasInputs ? [inputs.map(inputText).map(replaceControlCharacters).join(", ")] : []),
      ...(hasTags ? [tags.map((tag) => `#${replaceControlCharacters(tag)}`).join(" ")] : []),
    ],
  );
  output.result("pipelines", { pipelines: [...pipelines] }, rowsFor(output.out, rows));
  if (output.json) return;
  if (pipelines.some(({ problem }) => problem !== undefined)) {
    output.note("`pipeline validate` shows the problems.");
  }
}

/** An input in the notation of options: `lamps=<number> [default: 3]`, or `[optional]` if only a run can evaluate the default. */
function inputText({ name, type, options, required, default: byDefault }: DeclaredInput): string {
  const kind = options?.map((option) => quoted(String(option))).join("|") ?? type;
  const otherwise = byDefault === undefined ? "optional" : `default: ${quoted(String(byDefault))}`;
  return `${name}=<${kind}> [${required ? "required" : otherwise}]`;
}

/** A service sends one problem per line, and the number of further ones in the last line. */
function stateOf(problem: string): string {
  const lines = problem.split("\n");
  const more = /^and (\d+) more$/.exec(lines.at(-1) ?? "")?.[1];
  const count = more === undefined ? lines.length : lines.length - 1 + Number(more);
  return counted(count, "problem");
}
