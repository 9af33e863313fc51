import { isServiceNamed } from "../../client/credentials/logins.ts";
import type { ServiceClient } from "../../client/http/serviceClient.ts";
import { projectFiles } from "../../client/pipelineFiles/projectFiles.ts";
import { findProject } from "../../client/project.ts";
import { isInWork, type Run } from "../../contract/run.ts";
import type { Environment } from "../environment.ts";
import type { ValueKind } from "./valueKinds.ts";
import type { Candidate } from "./wantedWord.ts";

export interface LiveWordsDeps {
  readonly env: Environment;
  /** The one that the person stands in. */
  readonly folder: string;
  /** The service in use, when it is running; it is not started for a completion. */
  readonly service: () => Promise<ServiceClient | undefined>;
  /** The keys in this machine's own service. */
  readonly keys: () => Promise<readonly KnownKey[]>;
  readonly signal: AbortSignal;
}

export interface KnownKey {
  readonly keyId: string;
  readonly orgName: string;
  readonly role: string;
  readonly isRevoked: boolean;
}

/** The values of a kind that there are now. @param project where one was named before. */
export async function liveWords(
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
      return (await runs({ inWork: true, limit: 100 }, deps)).filter(isInWork).map(asCandidate);
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
  query: { readonly inWork?: boolean; readonly limit: number },
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
