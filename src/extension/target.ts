import type { WorkspaceConfiguration } from "vscode";
import { parseBaseUrl } from "../client/http/baseUrl.ts";
import { describeError, PipelineError } from "../contract/errors.ts";

/** The service that the settings name. */
export type Target =
  /** No base URL: this machine's own. */
  | { readonly kind: "embedded" }
  | { readonly kind: "remote"; readonly baseUrl: URL }
  | { readonly kind: "invalid"; readonly error: PipelineError };

/** Reads `pipelineRuns.baseUrl`, which no workspace can set. */
export function readTarget(settings: Pick<WorkspaceConfiguration, "get">): Target {
  const text = String(settings.get("baseUrl") ?? "").trim();
  if (text === "") return { kind: "embedded" };
  try {
    return { kind: "remote", baseUrl: parseBaseUrl(text) };
  } catch (error) {
    const why = describeError(error);
    return {
      kind: "invalid",
      error: new PipelineError("usage", "The setting pipelineRuns.baseUrl can't be used.", { next: why }),
    };
  }
}

/** What a key is bound to: the origin that it was entered for. */
export function originOf(target: Exclude<Target, { kind: "invalid" }>): string {
  return target.kind === "embedded" ? "this machine's own service" : target.baseUrl.origin;
}
