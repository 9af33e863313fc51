import { constants } from "node:fs";
import { open, readdir } from "node:fs/promises";
import { join } from "node:path";
import { PipelineError } from "../contract/errors.ts";
import type { PipelineEntry, Project } from "../contract/pipelineList.ts";
import { nearestName } from "../pipeline/nearestName.ts";
import { largestFile, type ParsedPipeline, parsePipeline } from "../pipeline/parsePipeline.ts";
import type { Pipeline } from "../pipeline/pipeline.ts";
import { formatProblem } from "../pipeline/problem.ts";

interface PipelineFile {
  readonly project: Project;
  /** Under the project's root, with forward slashes, as people are shown it. */
  readonly path: string;
  readonly name: string;
  readonly parsed: ParsedPipeline;
}

/**
 * The pipeline files of projects, read anew each time that they are asked for: people edit them. What a file's text was
 * parsed into is remembered, since many starts may come at once and most texts are what they were.
 */
export class PipelineFiles {
  readonly #parsed = new Map<string, { readonly text: string; readonly parsed: ParsedPipeline }>();

  /** Every pipeline file of the projects, also the broken ones. A project whose folder is gone has none. */
  async list(projects: readonly Project[]): Promise<PipelineEntry[]> {
    const files = await this.#read(projects);
    return files.map(({ name, project, path, parsed }) => ({
      name,
      project: project.name,
      path,
      resourceTypes:
        parsed.kind === "valid" ? [...new Set(parsed.pipeline.steps.map((step) => step.type))].sort() : [],
      ...(parsed.kind === "invalid" ? { problem: problemsOf(path, parsed) } : {}),
    }));
  }

  /**
   * The pipeline of a name, ready to run, and the project it was found in.
   * @throws PipelineError `not-found` naming the nearest; `invalid-request` with file, line and column of every problem;
   *   `conflict` when several files have the name.
   */
  async find(
    projects: readonly Project[],
    name: string,
  ): Promise<{ readonly project: Project; readonly pipeline: Pipeline }> {
    const files = await this.#read(projects);
    const found = files.filter((file) => file.name === name);
    const [file, other] = found;
    if (file === undefined) throw noSuchPipeline(name, files, projects);
    if (other !== undefined) {
      const places = found.map(({ project, path }) => `${project.name}: ${path}`).join(", ");
      throw new PipelineError("conflict", `Several pipelines are named \`${name}\` (${places}).`, {
        next: "Name the project, or give each file a name of its own.",
      });
    }
    if (file.parsed.kind === "invalid") {
      throw new PipelineError(
        "invalid-request",
        `The pipeline file can't be run:\n${problemsOf(file.path, file.parsed)}`,
        {
          next: "Correct the file, then run it again.",
        },
      );
    }
    return { project: file.project, pipeline: file.parsed.pipeline };
  }

  async #read(projects: readonly Project[]): Promise<PipelineFile[]> {
    return (await Promise.all(projects.map((project) => this.#readProject(project)))).flat();
  }

  async #readProject(project: Project): Promise<PipelineFile[]> {
    const folder = join(project.root, "pipelines");
    const names = (await readdir(folder).catch(() => [])).filter((name) => name.endsWith(".yaml")).sort();
    return Promise.all(
      names.map(async (fileName) => {
        const path = `pipelines/${fileName}`;
        const parsed = await this.#readFile(join(folder, fileName), fileName);
        const name = parsed.kind === "valid" ? parsed.pipeline.name : fileName.slice(0, -".yaml".length);
        return { project, path, name, parsed };
      }),
    );
  }

  async #readFile(file: string, fileName: string): Promise<ParsedPipeline> {
    try {
      const text = await readPlainFile(file);
      return text === undefined ? unreadable("this is no plain file") : this.#parse(file, text, fileName);
    } catch (error) {
      return unreadable(`the file can't be read: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  #parse(file: string, text: string, fileName: string): ParsedPipeline {
    const known = this.#parsed.get(file);
    if (known?.text === text) return known.parsed;
    const parsed = parsePipeline(text, fileName);
    this.#parsed.delete(file);
    this.#parsed.set(file, { text, parsed });
    const [oldest] = this.#parsed.keys();
    if (this.#parsed.size > mostRemembered && oldest !== undefined) this.#parsed.delete(oldest);
    return parsed;
  }
}

/** More than a project has, and few enough to be kept in memory. */
const mostRemembered = 500;

function noSuchPipeline(
  name: string,
  files: readonly PipelineFile[],
  projects: readonly Project[],
): PipelineError {
  const where = projects.length === 1 ? ` in the project \`${projects[0]?.name}\`` : "";
  const names = files.map((file) => file.name);
  const nearest = nearestName(name, names);
  const next =
    nearest !== undefined
      ? `Did you mean \`${nearest}\`?`
      : names.length > 0
        ? `There are: ${names.slice(0, 10).join(", ")}.`
        : "Add one as pipelines/<name>.yaml.";
  return new PipelineError("not-found", `There is no pipeline \`${name}\`${where}.`, { next });
}

/**
 * A file's text, of a longer file just so much (three bytes a character at the most) that the parser finds it too long.
 * A named pipe would hold up the reader for ever and a device never end, so only a plain file is read, and only once it
 * is open is it known to be one.
 * @returns undefined for anything but a plain file.
 */
async function readPlainFile(path: string): Promise<string | undefined> {
  // Windows has no such flag, and no named pipes among its files.
  const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    const stats = await file.stat();
    if (!stats.isFile()) return undefined;
    const buffer = Buffer.allocUnsafe(Math.min(stats.size, 3 * largestFile + 1));
    const { bytesRead } = await file.read(buffer, 0, buffer.length, 0);
    return buffer.toString("utf8", 0, bytesRead);
  } finally {
    await file.close();
  }
}

function unreadable(message: string): ParsedPipeline {
  return { kind: "invalid", problems: [{ message, line: 1, column: 1 }] };
}

/** The problems, each with its place and on a line of its own; of very many the first ones. */
function problemsOf(path: string, { problems }: Extract<ParsedPipeline, { kind: "invalid" }>): string {
  const told = problems.slice(0, mostProblemsTold).map((problem) => formatProblem(path, problem));
  const more = problems.length > told.length ? [`and ${problems.length - told.length} more`] : [];
  return [...told, ...more].join("\n");
}

/** More than anyone mends before looking again. */
const mostProblemsTold = 50;
