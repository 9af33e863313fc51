import { html } from "hono/html";
import type { PipelineError } from "../../contract/errors.ts";
import type { Html } from "./html.ts";
import { startPath } from "./nextPath.ts";

/** What went wrong, for people. */
export function errorView({ type, message, next }: PipelineError): Html {
  return html`<h1>${titleOf(type)}</h1>
<p>${message} ${next}</p>
<p><a href="${startPath}">Back to the runs</a></p>`;
}

export function titleOf(type: PipelineError["type"]): string {
  switch (type) {
    case "not-found":
      return "Not found";
    case "forbidden":
      return "Not allowed";
    default:
      return "That did not work";
  }
}
