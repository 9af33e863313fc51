import { isServiceNamed } from "../../client/logins/logins.ts";
import { findProject } from "../../client/project.ts";
import type { ServiceClient } from "../../client/service/client.ts";
import { inputText } from "../../contract/inputs.ts";
import type { PipelineEntry } from "../../contract/pipelines.ts";
import type { Run } from "../../contract/run.ts";
import { isActive, runStatuses } from "../../contract/runStatus.ts";
import { inputMeaning } from "../../pipeline/inputs.ts";
import type { Environment } from "../../project/environment.ts";
import { listedFiles } from "../../project/pipelineFiles.ts";
import type { ToolCommand } from "../commands/command.ts";
import {
  bashWord,
  type Candidate,
  readBashLine,
  type ValueKind,
  type Wanted,
  wantedWord,
} from "./wantedWord.ts";

export interface TabDeps {
  readonly env: Environment;
  /** The working directory. */
  readonly folder: string;
  readonly out: { write(text: string): unknown };
  /** The service in use, if it is running. */
  readonly service: (signal: AbortSignal) => Promise<ServiceClient | undefined>;
}

/** The person waits with a half-typed line. */
const timeoutMilliseconds = 900;

/**
 * Prints the completions of the word at the cursor for a shell's completion script. The first line is `words`, `files`,
 * `folders` or `words-or-files`, then a tab and the word's prefix before the value; each other line is a word, a tab and
 * its meaning. For bash, words are quoted and there is neither prefix nor meaning. Errors print nothing.
 * @param args the shell, then for bash the line up to the cursor and `COMP_WORDBREAKS`, for the others the words.
 */
export async function answerTab(program: ToolCommand, args: readonly string[], deps: TabDeps): Promise<void> {
  const late = setTimeout(() => process.exit(0), timeoutMilliseconds + 100).unref();
  try {
    deps.out.write(await answer(program, args, deps));
  } catch {
    // Ignored: an error message would disturb the half-typed line.
  } finally {
    clearTimeout(late);
  }
}

async function answer(program: ToolCommand, args: readonly string[], deps: TabDeps): Promise<string> {
  const [shell, ...given] = args;
  if (shell === "bash") {
    const line = readBashLine(given[0] ?? "", given[1] ?? "");
    const wanted = wantedWord(program, line.before.slice(1), line.current);
    const words = (await candidates(wanted, line.current, deps))
      .map(({ word }) => `${wanted.lead}${word}`)
      .filter((word) => word.startsWith(line.current));
    return lines([fileKind(wanted), ...words.map((word) => bashWord(word, line))]);
  }
  const typed = given.at(-1) ?? "";
  const current = shell === "fish" ? readBashLine(typed, "").current : typed;
  const wanted = wantedWord(program, given.slice(0, -1), current);
  const lead = shell === "fish" ? wanted.lead : "";
  const words = await candidates(wanted, current, deps);
  return lines([
    `${fileKind(wanted)}\t${wanted.lead}`,
    ...words.map(({ word, meaning = "" }) => `${lead}${word}\t${meaning.replace(/\s+/g, " ")}`),
  ]);
}

async function candidates(
  wanted: Wanted,
  current: string,
  { env, folder, service }: TabDeps,
): Promise<readonly Candidate[]> {
  if (wanted.kind === "words") return wanted.words;
  const { value, given, args, options, lead } = wanted;
  const signal = AbortSignal.timeout(timeoutMilliseconds);
  const found = await liveValues(value, {
    env,
    folder,
    signal,
    service: () => service(signal),
    typed: current.slice(lead.length),
    project: options.get("project"),
    pipelines: [...args, ...[options.get("pipeline") ?? []].flat()],
    run: args[0],
  });
  // The protocol is line-based, so names with control characters are left out.
  return unique(found).filter(({ word }) => !given.includes(word) && !/[\p{Cc}]/u.test(word));
}

function fileKind(wanted: Wanted): string {
  return (wanted.kind === "value" && fileKinds[wanted.value]) || "words";
}

const fileKinds: Partial<Record<ValueKind, string>> = {
  file: "files",
  folder: "folders",
  "pipeline-or-file": "words-or-files",
};

function lines(of: readonly string[]): string {
  return of.map((line) => `${line}\n`).join("");
}

interface LiveValuesDeps extends Pick<TabDeps, "env" | "folder"> {
  /** The service in use, if it is running; a completion doesn't start it. */
  readonly service: () => Promise<ServiceClient | undefined>;
  readonly signal: AbortSignal;
  /** The value so far. */
  readonly typed: string;
  /** The project that the line names by `--project`. */
  readonly project: string | undefined;
  /** The pipelines that the line names. */
  readonly pipelines: readonly string[];
  /** The run that it names. */
  readonly run: string | undefined;
}

/** The current values of a kind. */
async function liveValues(kind: ValueKind, deps: LiveValuesDeps): Promise<readonly Candidate[]> {
  switch (kind) {
    case "pipeline":
    case "pipeline-or-file":
      return (await entries(deps)).map(({ name, project, problem }) => ({
        word: name,
        meaning: meaningOf(project, problem && "has problems"),
      }));
    case "project":
      return projects(deps);
    case "run":
      return (await runs({ limit: 50 }, deps)).map(asCandidate);
    case "run-in-work":
      return (await runs({ active: true, limit: 100 }, deps)).filter(isActive).map(asCandidate);
    case "artifact":
      return artifacts(deps);
    case "step":
      return steps(deps);
    case "input":
      return inputs(deps);
    case "tag":
      return (await entries(deps)).flatMap(({ tags = [] }) => tags.map((word) => ({ word })));
    case "status":
      return statuses(deps.typed);
    case "file":
    case "folder":
    case "anything":
      return [];
  }
}

/** A comma-separated list, completed at its last item. */
function statuses(typed: string): Candidate[] {
  const before = typed.split(",").slice(0, -1);
  return ["active", ...runStatuses]
    .filter((status) => !before.includes(status))
    .map((status) => ({ word: [...before, status].join(",") }));
}

/** The files of the project in this folder, as `pipeline run` uses them; otherwise the service's pipelines. */
async function entries({
  env,
  folder,
  service,
  project,
  signal,
}: LiveValuesDeps): Promise<readonly PipelineEntry[]> {
  const here = (await isServiceNamed(env)) ? undefined : await findProject(folder);
  if (here !== undefined) return listedFiles(here.root);
  return (await (await service())?.pipelines(project, signal))?.pipelines ?? [];
}

/** `region=`, and once that is typed `region=eu`: the inputs of the pipelines that the line names, or of all. */
async function inputs(deps: LiveValuesDeps): Promise<Candidate[]> {
  const { pipelines: named, typed } = deps;
  const declared = (await entries(deps))
    .filter(({ name }) => named.length === 0 || named.includes(name))
    .flatMap((entry) => entry.inputs ?? []);
  if (!typed.includes("=")) {
    return declared.map((input) => ({ word: `${input.name}=`, meaning: inputMeaning(input) }));
  }
  return declared.flatMap(({ name, type, options = type === "boolean" ? [true, false] : [] }) =>
    options.map((option) => ({ word: inputText(name, option) })),
  );
}

async function projects(deps: LiveValuesDeps): Promise<Candidate[]> {
  const here = await findProject(deps.folder);
  const own = here === undefined ? [] : [{ word: here.name, meaning: here.root }];
  const known = await (await deps.service())?.pipelines(undefined, deps.signal).catch(() => undefined);
  const listed = (known?.pipelines ?? []).flatMap(({ project }) => project ?? []);
  return [...own, ...listed.map((word) => ({ word }))];
}

async function runs(
  query: { readonly active?: boolean; readonly limit: number },
  { service, signal }: LiveValuesDeps,
): Promise<readonly Run[]> {
  return (await (await service())?.runs(query, signal))?.runs ?? [];
}

/** The files that the run has kept. */
async function artifacts({ service, run, signal }: LiveValuesDeps): Promise<Candidate[]> {
  const kept = run === undefined ? undefined : (await (await service())?.run(run, signal))?.artifacts;
  return (kept ?? []).map(({ name, mediaType }) => ({ word: name, meaning: mediaType }));
}

/** The steps of the run that the line names, else of the newest of the caller's key: each by its id, where it has one. */
async function steps({ service, run, signal }: LiveValuesDeps): Promise<Candidate[]> {
  const client = await service();
  if (client === undefined) return [];
  const [{ namedOrLatest }, { ranSteps }] = await Promise.all([
    import("../runs/showRun.ts"),
    import("../runs/steps.ts"),
  ]);
  const runId = await namedOrLatest(client, run, signal);
  const ran = await ranSteps(client, runId, signal);
  const listed = ran.length === 0 ? (await client.run(runId, signal)).steps : undefined;
  return (
    listed?.map(({ name }) => ({ word: name })) ??
    ran.map(({ id, name }) => (id === undefined ? { word: name } : { word: id, meaning: name }))
  );
}

function asCandidate({ runId, pipeline, status }: Run): Candidate {
  return { word: runId, meaning: meaningOf(pipeline, status) };
}

function meaningOf(...facts: readonly (string | undefined)[]): string {
  return facts.filter((fact) => fact !== undefined).join(", ");
}

/** Of each word the first. */
function unique(candidates: readonly Candidate[]): readonly Candidate[] {
  return [...new Map(candidates.toReversed().map((each) => [each.word, each])).values()].toReversed();
}
