import { PipelineError } from "../contract/errors.ts";

/** The oldest Node.js for the service and undici, which is VS Code 1.105's (`engines` in package.json). */
export const oldestNode = "22.19";

/** @throws PipelineError `internal` when the Node.js of this process is too old, or another of this version. */
export function refuseOldNode(version = process.versions.node): void {
  if (!isOlder(version, `${oldestNode}.0`)) return;
  const message = `This needs Node.js ${oldestNode} or later, and there is ${version}.`;
  throw new PipelineError("internal", message, { next: `Install Node.js ${oldestNode} or later.` });
}

declare const PIPELINE_RUNS_VERSION: string | undefined;

/** The product's version, set by the build; undefined when run from source. */
export const ownVersion: string | undefined =
  typeof PIPELINE_RUNS_VERSION === "string" ? PIPELINE_RUNS_VERSION : undefined;

/**
 * Whether a version precedes another, as `0.9.1` does `0.10.0`. Unknown and invalid versions are neither older nor newer, nor
 * are two prereleases of one version.
 */
export function isOlder(one: string | undefined, other: string | undefined): boolean {
  const [first, second] = [sortable(one), sortable(other)];
  return first !== undefined && second !== undefined && first < second;
}

/** A text that sorts as the version does: its numbers, all of one length, with a prerelease before its release. */
function sortable(version = ""): string | undefined {
  const [, numbers, early] = /^(\d+\.\d+\.\d+)(-[\w.-]+)?(?:\+[\w.-]+)?$/.exec(version) ?? [];
  return numbers?.replaceAll(/\d+/g, (number) => number.padStart(10, "0")).concat(early ? "" : " release");
}
