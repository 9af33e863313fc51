import { t } from "@vscode/l10n";
import { isName } from "../../pipeline/pipeline.ts";

/** Names that Windows reserves for devices, with any extension. */
const devices = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i;

/** A typed name without an extension. */
export function nameTyped(typed: string): string {
  return typed.trim().replace(/\.yaml$/i, "");
}

export function exampleName(taken: readonly string[]): string {
  const free = ["nightly", "smoke", "release", "deploy"].find(
    (name) => problemOfNewPipeline(name, taken) === undefined,
  );
  return free ?? "";
}

/**
 * What is wrong with a new pipeline's name, as one sentence; undefined for a valid one.
 * @param taken the names of the project's files, without extension.
 */
export function problemOfNewPipeline(typed: string, taken: readonly string[]): string | undefined {
  const name = nameTyped(typed);
  if (name === "") return t("Type a name. The file and the pipeline get this name.");
  if (!isName(name) || devices.test(name) || /\.ya?ml$/i.test(name)) {
    return t("A name starts with a letter or digit, followed by letters, digits, “.”, “_” and “-”.");
  }
  const same = taken.find((other) => other.toLowerCase() === name.toLowerCase());
  return same === undefined ? undefined : t("pipelines/{0}.yaml already exists.", same);
}
