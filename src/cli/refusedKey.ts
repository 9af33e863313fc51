import { loginCommand } from "../client/credentials/loginCommand.ts";
import type { ChosenService } from "../client/serviceFor.ts";
import { PipelineError } from "../contract/errors.ts";

/** A service's refusal of the key, with how this person sets another; whatever else was thrown stays as it is. */
export function withWayBack(error: unknown, service: ChosenService | undefined): unknown {
  if (!(error instanceof PipelineError) || error.type !== "unauthorized" || service === undefined)
    return error;
  const { href, host } = service.client.baseUrl;
  switch (service.kind) {
    case "login":
      return new PipelineError(error.type, error.message, {
        cause: error,
        next: `Log in again: \`${loginCommand(href)}\`.`,
      });
    case "named":
      return new PipelineError(error.type, error.message, {
        cause: error,
        next: `Set PIPELINE_API_KEY to a key that ${host} accepts.`,
      });
    case "embedded":
      return error;
    default:
      return service.kind satisfies never;
  }
}
