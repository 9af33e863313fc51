import { t } from "@vscode/l10n";
import type { ServiceClient } from "../../client/service/client.ts";
import { readArtifact } from "../../client/service/readArtifact.ts";
import { PipelineError } from "../../contract/errors.ts";
import type { Artifact, Run } from "../../contract/run.ts";
import { sizeText } from "../../text/size.ts";
import { toOneLine } from "../window/runText.ts";
import type { ReadableFile } from "./runFiles.ts";
import { artifactOf, artifactUri, type UriParts } from "./runUri.ts";
import { ownLine, stepName, type TextLine, textStyles } from "./textLine.ts";

interface ArtifactDeps {
  readonly connect: (signal: AbortSignal) => Promise<ServiceClient>;
  readonly signal: AbortSignal;
}

/**
 * Reads an artifact from the service, with the key in a header and in no URL.
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

/** Links to the files that steps kept, such as screenshots; no lines if there are none. */
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
  const about = [kindText(artifact.mediaType), sizeText(artifact.bytes, t), step].join(" · ");
  const line = ownLine(margin, name, { text: `  ${about}`, style: textStyles.quiet });
  const { path } = artifactUri(run.runId, artifact);
  return { ...line, links: [{ kind: "kept", start: margin.length, end: margin.length + name.length, path }] };
}

function kindText(mediaType: string): string {
  const kind = toOneLine(mediaType.split(";", 1)[0] ?? "");
  return kind === "image/png" || kind === "image/jpeg" ? t("picture") : kind;
}
