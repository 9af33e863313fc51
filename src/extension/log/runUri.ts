import { controlCharacters } from "../../contract/controlCharacters.ts";

/** The scheme of the documents that show a run's log, and of the files that its steps kept. */
export const logScheme = "pipeline-run-log";
export const artifactScheme = "pipeline-run-file";

/** The parts of a URI that name something; VS Code's own class is made of them where there is one. */
export interface UriParts {
  readonly scheme: string;
  readonly path: string;
}

/**
 * Where a run's log is. The name of the tab tells the pipeline and the end of the run's id, which differs from run to run;
 * the folder is what makes it unique. `/log` lets the manifest's language find these documents, and no file of a disk.
 */
export function logUri(runId: string, pipeline: string): UriParts {
  const name = `${inName(pipeline) || "run"}-${inName(runId).slice(-6).toWellFormed()}.log`;
  return { scheme: logScheme, path: `/${logScheme}/${encodeURIComponent(runId)}/${name}` };
}

/** @returns undefined for a URI that names no run. */
export function runIdOf({ scheme, path }: UriParts): string | undefined {
  const [, root, runId, name, beyond] = path.split("/");
  if (scheme !== logScheme || root !== logScheme || name === undefined || beyond !== undefined)
    return undefined;
  return decoded(runId);
}

/** Where a kept file is: by the run, and by the name that the service gave it. */
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
 * A file's name as the editor sees it. Its ending decides what the editor opens it with, so it comes from the kind of file
 * and not from the name, which may come from anywhere.
 */
function artifactFileName(name: string, mediaType: string): string {
  const kind = mediaType.split(";", 1)[0]?.trim().toLowerCase() ?? "";
  // The kind may be any word, also one that every object has.
  const allowed = (Object.hasOwn(endings, kind) ? endings[kind] : undefined) ?? [".txt"];
  const plain = inName(name) || "file";
  return allowed.some((ending) => plain.toLowerCase().endsWith(ending)) ? plain : `${plain}${allowed[0]}`;
}

const longestName = 60;
/** Of a name without end, so much is enough to find one in. */
const mostLookedAt = 600;
const notInName = new RegExp(`[${controlCharacters}\\s/\\\\:*?"<>|%#]+`, "gu");

function inName(text: string): string {
  return text
    .slice(0, mostLookedAt)
    .replace(notInName, "-")
    .replace(/^[-.]+|-+$/g, "")
    .slice(0, longestName)
    .toWellFormed();
}

function decoded(part: string | undefined): string | undefined {
  if (part === undefined || part === "") return undefined;
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}
