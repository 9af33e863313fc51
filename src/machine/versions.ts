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
  const [first, second] = [parse(one), parse(other)];
  if (first === undefined || second === undefined) return false;
  for (const [index, number] of first.numbers.entries()) {
    const difference = number - (second.numbers[index] ?? 0);
    if (difference !== 0) return difference < 0;
  }
  return first.isEarly && !second.isEarly;
}

interface Version {
  readonly numbers: readonly number[];
  /** A prerelease, such as `0.5.0-beta.1`. */
  readonly isEarly: boolean;
}

function parse(version: string | undefined): Version | undefined {
  const [, numbers, early] = /^(\d+\.\d+\.\d+)(-[\w.-]+)?(?:\+[\w.-]+)?$/.exec(version ?? "") ?? [];
  if (numbers === undefined) return undefined;
  return { numbers: numbers.split(".").map(Number), isEarly: early !== undefined };
}
