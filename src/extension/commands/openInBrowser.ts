import { t } from "@vscode/l10n";
import { AbsentEndpoint } from "../../client/http/replyError.ts";
import type { ServiceClient } from "../../client/http/serviceClient.ts";
import { PipelineError } from "../../contract/errors.ts";
import type { Target } from "../keys/target.ts";
import type { Session } from "../session/session.ts";
import { runIdOf } from "./pickRun.ts";

export interface OpenInBrowserDeps {
  readonly session: Pick<Session, "connect">;
  readonly target: () => Target;
  readonly openExternal: (url: string) => Promise<boolean>;
  readonly signal: AbortSignal;
}

/**
 * “Open in Browser”: opens the service's page of the run, or of its runs where it is told none. This machine's own signs the browser in by a link that works once;
 * any other asks the person to sign in its own way.
 * @throws PipelineError `breaks-contract` for a link that leads elsewhere than to the service.
 */
export async function openInBrowser(deps: OpenInBrowserDeps, argument?: unknown): Promise<void> {
  const runId = runIdOf(argument);
  const client = await deps.session.connect(deps.signal);
  const path = runId === undefined ? "app/runs" : `app/runs/${encodeURIComponent(runId)}`;
  const page = new URL(path, client.baseUrl);
  const link = deps.target().kind === "embedded" ? await signInLink(client, deps.signal) : undefined;
  if (runId !== undefined) link?.searchParams.set("next", page.pathname);
  await deps.openExternal((link ?? page).href);
}

async function signInLink(client: ServiceClient, signal: AbortSignal): Promise<URL | undefined> {
  try {
    const { url } = await client.signInLink(signal);
    const link = new URL(url);
    if (link.origin === client.baseUrl.origin) return link;
  } catch (error) {
    if (error instanceof AbsentEndpoint) return undefined;
    throw error;
  }
  throw new PipelineError("breaks-contract", t("The service's sign-in link leads to another address."));
}
