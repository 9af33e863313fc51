import { t } from "@vscode/l10n";
import type { Artifact, Run } from "../../contract/run.ts";
import { inALine } from "./inALine.ts";
import { keptUri } from "./runUri.ts";
import { stepName } from "./stepHeading.ts";
import { looks, ownLine, type TextLine } from "./textLine.ts";

const margin = "  ";
const mostShown = 100;

/** What the steps kept, such as screenshots, as links; nothing when there is none. */
export function keptLines(run: Run): TextLine[] {
  const kept = run.artifacts ?? [];
  if (kept.length === 0) return [];
  const lines = kept.slice(0, mostShown).map((artifact) => keptLine(run, artifact));
  const more = kept.length - lines.length;
  return [
    ownLine({ text: t("Kept files"), style: looks.strong }),
    ...lines,
    ...(more > 0 ? [ownLine({ text: margin + t("and {0} more", more), style: looks.quiet })] : []),
  ];
}

function keptLine(run: Run, artifact: Artifact): TextLine {
  const name = inALine(artifact.name) || inALine(artifact.file) || t("file");
  const step = stepName(run.steps?.[artifact.stepIndex], artifact.stepIndex);
  const about = [kindText(artifact.mediaType), sizeText(artifact.bytes), step].join(" · ");
  const line = ownLine(margin, name, { text: `  ${about}`, style: looks.quiet });
  const { path } = keptUri(run.runId, artifact);
  return { ...line, links: [{ kind: "kept", start: margin.length, end: margin.length + name.length, path }] };
}

function kindText(mediaType: string): string {
  const kind = inALine(mediaType.split(";", 1)[0] ?? "");
  return kind === "image/png" || kind === "image/jpeg" ? t("picture") : kind;
}

/** A size as a person reads it. */
function sizeText(bytes: number): string {
  if (bytes === 1) return t("1 byte");
  if (bytes < 1024) return t("{0} bytes", bytes);
  const kib = bytes / 1024;
  return kib < 1024 ? t("{0} KiB", rounded(kib)) : t("{0} MiB", rounded(kib / 1024));
}

function rounded(value: number): string {
  return value < 10 ? value.toFixed(1) : String(Math.round(value));
}
