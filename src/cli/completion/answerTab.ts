import { dataFolder } from "../../client/embedded/dataFolder.ts";
import type { Environment } from "../../client/environment.ts";
import { isServiceNamed } from "../../client/logins/logins.ts";
import { projectFiles } from "../../client/pipelineFiles.ts";
import { findProject } from "../../client/project.ts";
import type { ServiceClient } from "../../client/service/client.ts";
import type { Run } from "../../contract/run.ts";
import { isActive, runStatuses } from "../../contract/runStatus.ts";
import type { ToolCommand } from "../commands/command.ts";
import { loadService } from "../tool.ts";
import { bashWord, readBashLine } from "./bashLine.ts";
import { type Candidate, type ValueKind, type Wanted, wantedWord } from "./wantedWord.ts";

export interface TabDeps {
  readonly env: Environment;
  /** The one that the person stands in. */
  readonly folder: string;
  readonly out: { write(text: string): unknown };
  /** The service in use, when it is running. */
  readonly service: (signal: AbortSignal) => Promise<ServiceClient | undefined>;
}

/** A person waits for it with a line half typed. */
const mostMilliseconds = 900;

/**
 * Tells a shell's script what the word at the cursor may be: on the first line `words`, `files`, `folders` or both
 * words and files, and behind a tab what stands before them in the same word; then a word a line with its meaning
 * behind a tab. bash is told the words quoted and without a meaning. Whatever goes wrong, nothing is told: a half-typed
 * line is no place for errors.
 * @param args the shell; of bash the line up to the cursor and its `COMP_WORDBREAKS`, of others the words.
 */
export async function answerTab(program: ToolCommand, args: readonly string[], deps: TabDeps): Promise<void> {
  const late = setTimeout(() => process.exit(0), mostMilliseconds + 100).unref();
  try {
    deps.out.write(await answer(program, args, deps));
  } catch {
    // Nothing is told.
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
    ...words.map(({ word, meaning }) => `${lead}${word}\t${meaning.replace(/\s+/g, " ")}`),
  ]);
}

async function candidates(
  wanted: Wanted,
  current: string,
  { env, folder, service }: TabDeps,
): Promise<readonly Candidate[]> {
  if (wanted.kind === "words") return wanted.words;
  const { value, given, options, lead } = wanted;
  if (value === "status") return statuses(current.slice(lead.length));
  const signal = AbortSignal.timeout(mostMilliseconds);
  const found = await liveWords(value, options.get("project"), {
    env,
    folder,
    signal,
    service: () => service(signal),
    keys: () => keysIn(options.get("data-dir") ?? dataFolder(env)),
  });
  // A line for each, so a name of several lines can't be one of them.
  return found.filter(({ word }) => !given.includes(word) && !/[\p{Cc}]/u.test(word));
}

/** Several stand behind each other with commas. */
function statuses(typed: string): Candidate[] {
  const before = typed.split(",").slice(0, -1);
  return ["in-work", ...runStatuses]
    .filter((status) => !before.includes(status))
    .map((status) => ({ word: [...before, status].join(","), meaning: "" }));
}

async function keysIn(folder: string): Promise<readonly KnownKey[]> {
  const { peekKeys } = await loadService(() => import("../../service/store/peekKeys.ts"));
  return peekKeys(folder);
}

function fileKind(wanted: Wanted): string {
  if (wanted.kind === "words") return "words";
  switch (wanted.value) {
    case "file":
      return "files";
    case "folder":
      return "folders";
    case "pipeline-or-file":
      return "words-or-files";
    default:
      return "words";
  }
}

function lines(of: readonly string[]): string {
  return of.map((line) => `${line}\n`).join("");
}

interface LiveWordsDeps {
  readonly env: Environment;
  /** The one that the person stands in. */
  readonly folder: string;
  /** The service in use, when it is running; it is not started for a completion. */
  readonly service: () => Promise<ServiceClient | undefined>;
  /** The keys in this machine's own service. */
  readonly keys: () => Promise<readonly KnownKey[]>;
  readonly signal: AbortSignal;
}

interface KnownKey {
  readonly keyId: string;
  readonly orgName: string;
  readonly role: string;
  readonly isRevoked: boolean;
}

/** The values of a kind that there are now. @param project where one was named before. */
async function liveWords(
  kind: ValueKind,
  project: string | undefined,
  deps: LiveWordsDeps,
): Promise<readonly Candidate[]> {
  switch (kind) {
    case "pipeline":
    case "pipeline-or-file":
      return pipelines(project, deps);
    case "project":
      return projects(deps);
    case "run":
      return (await runs({ limit: 50 }, deps)).map(asCandidate);
    case "run-in-work":
      return (await runs({ active: true, limit: 100 }, deps)).filter(isActive).map(asCandidate);
    case "org":
      return unique((await deps.keys()).map(({ orgName }) => ({ word: orgName, meaning: "" })));
    case "key":
      return (await deps.keys())
        .filter(({ isRevoked }) => !isRevoked)
        .map(({ keyId, role, orgName }) => ({ word: keyId, meaning: `${role} of ${orgName}` }));
    case "status":
    case "file":
    case "folder":
    case "anything":
      return [];
    default:
      return kind satisfies never;
  }
}

/** In a project its own files, since a run from here runs one of them; elsewhere what the service knows. */
async function pipelines(project: string | undefined, deps: LiveWordsDeps): Promise<Candidate[]> {
  const here = (await isServiceNamed(deps.env)) ? undefined : await findProject(deps.folder);
  if (here !== undefined) {
    return unique(
      (await projectFiles(here.root)).map(({ name, parsed }) => ({
        word: name,
        meaning: parsed.kind === "valid" ? "" : "has problems",
      })),
    );
  }
  const known = await (await deps.service())?.pipelines(project, deps.signal);
  return unique(
    (known?.pipelines ?? []).map((each) => ({
      word: each.name,
      meaning: meaningOf(each.project, each.problem && "has problems"),
    })),
  );
}

async function projects(deps: LiveWordsDeps): Promise<Candidate[]> {
  const here = await findProject(deps.folder);
  const own = here === undefined ? [] : [{ word: here.name, meaning: here.root }];
  const known = await (await deps.service())?.pipelines(undefined, deps.signal).catch(() => undefined);
  const told = (known?.pipelines ?? []).flatMap(({ project }) => project ?? []);
  return unique([...own, ...told.map((word) => ({ word, meaning: "" }))]);
}

async function runs(
  query: { readonly active?: boolean; readonly limit: number },
  { service, signal }: LiveWordsDeps,
): Promise<readonly Run[]> {
  return (await (await service())?.runs(query, signal))?.runs ?? [];
}

function asCandidate({ runId, pipeline, status }: Run): Candidate {
  return { word: runId, meaning: meaningOf(pipeline, status) };
}

function meaningOf(...facts: readonly (string | undefined)[]): string {
  return facts.filter((fact) => fact !== undefined).join(", ");
}

function unique(candidates: readonly Candidate[]): Candidate[] {
  return [...new Map(candidates.toReversed().map((each) => [each.word, each])).values()].toReversed();
}
