import { asFileName } from "../../text/controlCharacters.ts";

/** The schemes of runs' logs and of the files that steps kept. */
export const logScheme = "pipeline-run-log";
export const artifactScheme = "pipeline-run-file";

/** The parts of a URI that are used here; VS Code's `Uri` has them. */
export interface UriParts {
  readonly scheme: string;
  readonly path: string;
}

/**
 * The URI of a run's log. The tab shows the pipeline and the end of the run's id; the folder makes the URI unique. The manifest's
 * language recognises these documents by `/log`.
 */
export function logUri(runId: string, pipeline: string): UriParts {
  const name = `${asFileName(pipeline, longestName) || "run"}-${asFileName(runId, longestName).slice(-6).toWellFormed()}.log`;
  return { scheme: logScheme, path: `/${logScheme}/${encodeURIComponent(runId)}/${name}` };
}

/** @returns undefined for a URI that names no run. */
export function runIdOf({ scheme, path }: UriParts): string | undefined {
  const [, root, runId, name, beyond] = path.split("/");
  if (scheme !== logScheme || root !== logScheme || name === undefined || beyond !== undefined)
    return undefined;
  return decoded(runId);
}

/** The URI of a kept file, with the run's id and the file's. */
export function artifactUri(
  runId: string,
  { file, name, mediaType }: { readonly file: string; readonly name: string; readonly mediaType: string },
): UriParts {
  const parts = [runId, file].map(encodeURIComponent).join("/");
  return { scheme: artifactScheme, path: `/${parts}/${artifactFileName(name, mediaType)}` };
}

/** @returns undefined for a URI that names no kept file. */
export function artifactOf({ scheme, path }: UriParts): { runId: string; file: string } | undefined {
  const [, run, file, name, beyond] = path.split("/");
  if (scheme !== artifactScheme || name === undefined || beyond !== undefined) return undefined;
  const [runId, fileName] = [decoded(run), decoded(file)];
  return runId === undefined || fileName === undefined ? undefined : { runId, file: fileName };
}

const endings: Readonly<Record<string, readonly [string, ...string[]]>> = {
  "image/png": [".png"],
  "image/jpeg": [".jpg", ".jpeg"],
  "application/json": [".json"],
};

/**
 * The file's name in the editor. Its extension, which decides how the editor opens it, comes from the media type rather than from
 * the name, which may be anything.
 */
function artifactFileName(name: string, mediaType: string): string {
  const kind = mediaType.split(";", 1)[0]?.trim().toLowerCase() ?? "";
  // The media type may be any word, even `constructor`.
  const allowed = (Object.hasOwn(endings, kind) ? endings[kind] : undefined) ?? [".txt"];
  const plain = asFileName(name, longestName) || "file";
  return allowed.some((ending) => plain.toLowerCase().endsWith(ending)) ? plain : `${plain}${allowed[0]}`;
}

const longestName = 60;

function decoded(part: string | undefined): string | undefined {
  if (part === undefined || part === "") return undefined;
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}
