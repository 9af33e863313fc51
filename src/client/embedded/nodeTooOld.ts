import { PipelineError } from "../../contract/errors.ts";

/** Whether a Node.js lacks what the embedded service is built on: `node:sqlite`, there without a flag from 22.13 on. */
export function isNodeTooOld(major: number, minor: number): boolean {
  return major < 22 || (major === 22 && minor < 13);
}

/** @param version the Node.js there is, as `20.20`. */
export function nodeTooOld(version: string): PipelineError {
  return new PipelineError(
    "internal",
    `The embedded service needs Node.js 22.13 or later, and this is ${version}.`,
    { next: "Use a newer Node.js, or name another service with PIPELINE_BASE_URL and PIPELINE_API_KEY." },
  );
}
