import { t } from "@vscode/l10n";
import type { WorkspaceConfiguration } from "vscode";
import { parseBaseUrl } from "../../client/service/baseUrl.ts";
import { describeError, PipelineError } from "../../contract/errors.ts";

/** The service that the settings name. */
export type Target =
  /** No base URL: this machine's own. */
  | { readonly kind: "embedded" }
  | { readonly kind: "remote"; readonly baseUrl: URL }
  | { readonly kind: "invalid"; readonly error: PipelineError };

/** Reads `pipelineRuns.baseUrl`, which no workspace can set. */
export function readTarget(settings: Pick<WorkspaceConfiguration, "get">): Target {
  const text = String(settings.get("baseUrl") ?? "").trim();
  return targetAt(text, t("The setting pipelineRuns.baseUrl can't be used."));
}

/** The service at an address; this machine's own for none. @param unusable what is said of an address that is none. */
export function targetAt(address: string, unusable: string): Target {
  if (address === "") return { kind: "embedded" };
  try {
    return { kind: "remote", baseUrl: parseBaseUrl(address) };
  } catch (error) {
    return { kind: "invalid", error: new PipelineError("usage", unusable, { next: describeError(error) }) };
  }
}

/** The origin of keys for this machine's own service; never shown. */
const ownOrigin = "this machine's own service";

/** The origin that a key is bound to; {@link originText} is its text for people. */
export function originOf(target: Exclude<Target, { kind: "invalid" }>): string {
  return target.kind === "embedded" ? ownOrigin : target.baseUrl.origin;
}

/** The origin as the beginning of a sentence. */
export function originText(origin: string): string {
  return origin === ownOrigin ? t("This machine's own service") : origin;
}
