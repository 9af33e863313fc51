import { isServiceNamed } from "../../client/logins/logins.ts";
import { findProject } from "../../client/project.ts";
import type { RunsQuery, ServiceClient } from "../../client/service/client.ts";
import { inputText, type PipelineEntry } from "../../contract/pipelines.ts";
import { isActive, runStatuses } from "../../contract/runStatus.ts";
import { inputMeaning } from "../../pipeline/inputs.ts";
import type { Environment } from "../../project/environment.ts";
import { listedFiles } from "../../project/pipelineFiles.ts";
import type { ToolCommand } from "../commands/command.ts";
import { bashWord, type Candidate, readBashLine, type Wanted, wantedWord } from "./wantedWord.ts";

export interface TabDeps {
  readonly env: Environment;
  /** The working directory. */
  readonly folder: string;
  readonly out: { write(text: string): unknown };
  /** The service in use, if it is running. */
  readonly service: (signal: AbortSignal) => Promise<ServiceClient | undefined>;
}

/** Short, since the person waits with a half-typed line. */
const timeoutMilliseconds = 900;

/**
 * Prints the completions of the word at the cursor for a shell's completion script. The first line is `words`, `files`, `folders`
 * or `words-or-files`, then a tab and the part of the word before the value; each other line is a word, a tab and its meaning.
 * For bash, words are quoted, and that part and the meanings are omitted. Errors print nothing.
 * @param args the shell, then for bash the line up to the cursor and `COMP_WORDBREAKS`, for the others the words.
 */
export async function answerTab(program: ToolCommand, args: readonly string[], deps: TabDeps): Promise<void> {
  const late = setTimeout(() => process.exit(0), timeoutMilliseconds + 100).unref();
  try {
    const lines = await answer(program, args, deps);
    deps.out.write(lines.map((line) => `${line}\n`).join(""));
  } catch {
    // Ignored: an error message would disturb the half-typed line.
  } finally {
    clearTimeout(late);
  }
}

async function answer(program: ToolCommand, args: readonly string[], deps: TabDeps): Promise<string[]> {
  const [shell, ...given] = args;
  if (shell === "bash") {
    const line = readBashLine(given[0] ?? "", given[1] ?? "");
    const wanted = wantedWord(program, line.before.slice(1), line.current);
    const words = (await candidates(wanted, line.current, deps))
      .map(({ word }) => `${wanted.lead}${word}`)
      .filter((word) => word.startsWith(line.current));
    return [pathsOf(wanted), ...words.map((word) => bashWord(word, line))];
  }
  const typed = given.at(-1) ?? "";
  const current = shell === "fish" ? readBashLine(typed, "").current : typed;
  const wanted = wantedWord(program, given.slice(0, -1), current);
  const lead = shell === "fish" ? wanted.lead : "";
  const words = await candidates(wanted, current, deps);
  return [
    `${pathsOf(wanted)}\t${wanted.lead}`,
    ...words.map(({ word, meaning = "" }) => `${lead}${word}\t${meaning.replace(/\s+/g, " ")}`),
  ];
}

async function candidates(
  wanted: Wanted,
  current: string,
  { env, folder, service }: TabDeps,
): Promise<readonly Candidate[]> {
  const { of, given, lead } = wanted;
  if (typeof of !== "string") return of;
  const signal = AbortSignal.timeout(timeoutMilliseconds);
  const typed = current.slice(lead.length);
  const found =
    (await values[of]?.({ ...wanted, env, folder, signal, typed, service: () => service(signal) })) ?? [];
  // The protocol is line-based, so names with control characters are left out.
  const usable = found.filter(({ word }) => !given.includes(word) && !/[\p{Cc}]/u.test(word));
  // Keeps the first candidate of each word.
  return [...new Map(usable.toReversed().map((each) => [each.word, each])).values()].toReversed();
}

function pathsOf({ of }: Wanted): string {
  return (typeof of === "string" && paths[of]) || "words";
}

interface Line extends Pick<TabDeps, "env" | "folder">, Pick<Wanted, "args" | "options"> {
  /** The service in use, if it is running; a completion doesn't start it. */
  readonly service: () => Promise<ServiceClient | undefined>;
  readonly signal: AbortSignal;
  /** The value so far. */
  readonly typed: string;
}

type Values = (line: Line) => Promise<readonly Candidate[]>;

const pipelines: Values = async (line) =>
  (await entries(line)).map(({ name, project, problem }) => ({
    word: name,
    meaning: meaningOf(project, problem && "has problems"),
  }));

const tags: Values = async (line) =>
  (await entries(line)).flatMap(({ tags = [] }) => tags.map((word) => ({ word })));

/** A comma-separated list, completed at its last item. */
const statuses: Values = async ({ typed }) => {
  const before = typed.split(",").slice(0, -1);
  return ["active", ...runStatuses]
    .filter((status) => !before.includes(status))
    .map((status) => ({ word: [...before, status].join(",") }));
};

/** The files of this folder's project, as `pipeline run` uses them; otherwise the service's pipelines. */
async function entries({ env, folder, service, options, signal }: Line): Promise<readonly PipelineEntry[]> {
  const here = (await isServiceNamed(env)) ? undefined : await findProject(folder);
  if (here !== undefined) return listedFiles(here.root);
  return (await (await service())?.pipelines(options.get("project"), signal))?.pipelines ?? [];
}

/** `region=`, and once that is typed, `region=eu`: the inputs of the pipelines named on the line, or of all. */
const inputs: Values = async (line) => {
  const { args, options, typed } = line;
  const named = [...args, ...[options.get("pipeline") ?? []].flat()];
  const declared = (await entries(line))
    .filter(({ name }) => named.length === 0 || named.includes(name))
    .flatMap((entry) => entry.inputs ?? []);
  if (!typed.includes("=")) {
    return declared.map((input) => ({ word: `${input.name}=`, meaning: inputMeaning(input) }));
  }
  return declared.flatMap(({ name, type, options = type === "boolean" ? [true, false] : [] }) =>
    options.map((option) => ({ word: inputText(name, option) })),
  );
};

const projects: Values = async ({ folder, service, signal }) => {
  const here = await findProject(folder);
  const own = here === undefined ? [] : [{ word: here.name, meaning: here.root }];
  const known = await (await service())?.pipelines(undefined, signal).catch(() => undefined);
  const listed = (known?.pipelines ?? []).flatMap(({ project }) => project ?? []);
  return [...own, ...listed.map((word) => ({ word }))];
};

function runs(query: RunsQuery): Values {
  return async ({ service, signal }) => {
    const found = (await (await service())?.runs(query, signal))?.runs ?? [];
    return found
      .filter((run) => query.active !== true || isActive(run))
      .map(({ runId, pipeline, status }) => ({ word: runId, meaning: meaningOf(pipeline, status) }));
  };
}

/** The run's artifacts. */
const artifacts: Values = async ({ service, args: [run], signal }) => {
  const kept = run === undefined ? undefined : (await (await service())?.run(run, signal))?.artifacts;
  return (kept ?? []).map(({ name, mediaType }) => ({ word: name, meaning: mediaType }));
};

/** The steps of the run named on the line, else of the newest run of the caller's key: each by its id, if it has one. */
const steps: Values = async ({ service, args: [run], signal }) => {
  const client = await service();
  if (client === undefined) return [];
  const { namedOrLatest, ranSteps } = await import("../runs/showRun.ts");
  const runId = await namedOrLatest(client, run, signal);
  const ran = await ranSteps(client, runId, signal);
  if (ran.length > 0)
    return ran.map(({ id, name }) => (id === undefined ? { word: name } : { word: id, meaning: name }));
  return ((await client.run(runId, signal)).steps ?? []).map(({ name }) => ({ word: name }));
};

function meaningOf(...facts: readonly (string | undefined)[]): string {
  return facts.filter((fact) => fact !== undefined).join(", ");
}

const anyRun = runs({ limit: 50 });

/** The values of options, which are the same in every command, and of arguments. Anything in neither table is free text. */
export const values: Readonly<Record<string, Values>> = {
  pipeline: pipelines,
  project: projects,
  status: statuses,
  step: steps,
  input: inputs,
  tag: tags,
  "run pipeline": pipelines,
  "runs cancel id": runs({ active: true, limit: 100 }),
  "page id": anyRun,
  "runs show id": anyRun,
  "runs log id": anyRun,
  "runs diff id": anyRun,
  "runs file id": anyRun,
  "runs download id": anyRun,
  "runs download name": artifacts,
  "validate file": pipelines,
};

/** The options and arguments for which the shell completes paths. */
export const paths: Readonly<Record<string, string>> = {
  "data-dir": "folders",
  to: "folders",
  "stdin-name": "files",
  junit: "files",
  html: "files",
  "backup file": "files",
  "validate file": "words-or-files",
};
