import { PipelineError } from "../../contract/errors.ts";

/**
 * An id or a name as one segment of a path.
 * @throws PipelineError `invalid-request` for a text that a URL can't carry as one segment: it would name another endpoint.
 */
export function segment(what: string, text: string): string {
  if (text === "" || text === "." || text === ".." || !text.isWellFormed()) {
    throw new PipelineError("invalid-request", `"${text}" can't be the ${what}.`);
  }
  return encodeURIComponent(text);
}
