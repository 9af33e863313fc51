import { PipelineError } from "../../contract/errors.ts";

/** The oldest Node.js that the service and undici run on; VS Code 1.105 is built on it (`engines` of package.json). */
export const oldestNode = "22.19";

/** @param version as `process.versions.node` tells it. */
export function isNodeTooOld(version: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const [oldestMajor = 0, oldestMinor = 0] = oldestNode.split(".").map(Number);
  return major < oldestMajor || (major === oldestMajor && minor < oldestMinor);
}

/** @param version the Node.js there is. */
export function nodeTooOld(version: string): PipelineError {
  const message = `This needs Node.js ${oldestNode} or later, and there is ${version}.`;
  return new PipelineError("internal", message, { next: `Install Node.js ${oldestNode} or later.` });
}

/** @throws PipelineError `internal` with the next step where this process runs in one that is too old. */
export function refuseOldNode(): void {
  if (isNodeTooOld(process.versions.node)) throw nodeTooOld(process.versions.node);
}

declare const PIPELINE_RUNS_VERSION: string | undefined;

/** The version of this product, as the build has put it in; undefined where it runs from its sources. */
export const ownVersion: string | undefined =
  typeof PIPELINE_RUNS_VERSION === "string" ? PIPELINE_RUNS_VERSION : undefined;

/**
 * Whether a version comes before another by its numbers, as `0.9.1` before `0.10.0`. What is no version, or isn't known,
 * is neither older nor newer, and neither are two early ones of the same release.
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
  /** Before its release: `0.5.0-beta.1`. */
  readonly isEarly: boolean;
}

function parse(version: string | undefined): Version | undefined {
  const [, numbers, early] = /^(\d+\.\d+\.\d+)(-[\w.-]+)?(?:\+[\w.-]+)?$/.exec(version ?? "") ?? [];
  if (numbers === undefined) return undefined;
  return { numbers: numbers.split(".").map(Number), isEarly: early !== undefined };
}
