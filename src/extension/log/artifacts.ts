import { t } from "@vscode/l10n";
import type { ServiceClient } from "../../client/service/client.ts";
import { Deadline } from "../../client/service/deadline.ts";
import { asPipelineError, readWhole, send } from "../../client/service/exchange.ts";
import { replyError } from "../../client/service/replyErrors.ts";
import { type Service, type ServiceCall, segment } from "../../client/service/request.ts";
import { PipelineError } from "../../contract/errors.ts";
import type { Artifact, Run } from "../../contract/run.ts";
import { stepName, toOneLine } from "./ownLines.ts";
import type { ReadableFile } from "./runFiles.ts";
import { artifactOf, artifactUri, type UriParts } from "./runUri.ts";
import { ownLine, type TextLine, textStyles } from "./textLine.ts";

interface ArtifactDeps {
  readonly connect: (signal: AbortSignal) => Promise<ServiceClient>;
  readonly signal: AbortSignal;
}

/**
 * A file that a step kept, from the service, with the key in the header and in no address.
 * @throws PipelineError as `ServiceClient.run` and `readArtifact`.
 */
export async function openArtifact(uri: UriParts, deps: ArtifactDeps): Promise<ReadableFile | undefined> {
  const named = artifactOf(uri);
  if (named === undefined) return undefined;
  const { connect, signal } = deps;
  const client = await connect(signal);
  const run = await client.run(named.runId, signal);
  const kept = run.artifacts?.find(({ file }) => file === named.file);
  if (kept === undefined) {
    throw new PipelineError("not-found", t("The run has no such file."), {
      next: t("It may have been removed: the service keeps files for some days."),
    });
  }
  return {
    changedAt: Date.parse(kept.at),
    size: kept.bytes,
    read: () => readArtifact(client, named.runId, named.file, signal),
  };
}

const margin = "  ";
const mostShown = 100;

/** The files that the steps kept, such as screenshots, as links; no lines for none. */
export function artifactLines(run: Run): TextLine[] {
  const kept = run.artifacts ?? [];
  if (kept.length === 0) return [];
  const lines = kept.slice(0, mostShown).map((artifact) => artifactLine(run, artifact));
  const more = kept.length - lines.length;
  return [
    ownLine({ text: t("Kept files"), style: textStyles.strong }),
    ...lines,
    ...(more > 0 ? [ownLine({ text: margin + t("and {0} more", more), style: textStyles.quiet })] : []),
  ];
}

function artifactLine(run: Run, artifact: Artifact): TextLine {
  const name = toOneLine(artifact.name) || toOneLine(artifact.file) || t("file");
  const step = stepName(run.steps?.[artifact.stepIndex], artifact.stepIndex);
  const about = [kindText(artifact.mediaType), sizeText(artifact.bytes), step].join(" · ");
  const line = ownLine(margin, name, { text: `  ${about}`, style: textStyles.quiet });
  const { path } = artifactUri(run.runId, artifact);
  return { ...line, links: [{ kind: "kept", start: margin.length, end: margin.length + name.length, path }] };
}

function kindText(mediaType: string): string {
  const kind = toOneLine(mediaType.split(";", 1)[0] ?? "");
  return kind === "image/png" || kind === "image/jpeg" ? t("picture") : kind;
}

/** A size for people. */
function sizeText(bytes: number): string {
  if (bytes === 1) return t("1 byte");
  if (bytes < 1024) return t("{0} bytes", bytes);
  const kib = bytes / 1024;
  return kib < 1024 ? t("{0} KiB", rounded(kib)) : t("{0} MiB", rounded(kib / 1024));
}

function rounded(value: number): string {
  return value < 10 ? value.toFixed(1) : String(Math.round(value));
}

/** This project's service keeps at most 8 MiB. */
const largestMebibytes = 32;
const longestSilenceSeconds = 20;

/**
 * The bytes of an artifact (`GET /api/runs/{id}/artifacts/{file}`), which are not to be trusted.
 * @throws PipelineError `not-found` for no such file, or one that was removed; `AbsentEndpoint` from a service that keeps
 * none; `breaks-contract` for more than 32 MiB; as `ServiceClient` says.
 */
async function readArtifact(
  service: Service,
  runId: string,
  file: string,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const path = `api/runs/${segment("id of a run", runId)}/artifacts/${segment("name of a kept file", file)}`;
  const call: ServiceCall = { method: "GET", path, headers: { accept: "*/*" } };
  using deadline = new Deadline(service.clock, signal);
  deadline.arm(longestSilenceSeconds);
  const response = await send(service, call, deadline.signal, signal);
  if (response.status >= 400) {
    throw replyError(service, call, await readWhole(service, call, response, signal), "own, of something");
  }
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of response.body ?? []) {
      deadline.arm(longestSilenceSeconds);
      size += chunk.byteLength;
      if (size > largestMebibytes * 1024 * 1024) {
        throw new PipelineError("breaks-contract", t("The file is larger than {0} MiB.", largestMebibytes));
      }
      chunks.push(chunk);
    }
  } catch (error) {
    throw asPipelineError(service, error, signal);
  }
  return Buffer.concat(chunks, size);
}
