import { AbsentEndpoint } from "../../client/http/replyError.ts";
import type { ServiceClient } from "../../client/http/serviceClient.ts";
import { PipelineError } from "../../contract/errors.ts";
import type { Session } from "../session.ts";
import type { Target } from "../target.ts";

export interface OpenInBrowserDeps {
  readonly session: Pick<Session, "connect">;
  readonly target: () => Target;
  readonly openExternal: (url: string) => Promise<boolean>;
  readonly signal: AbortSignal;
}

/**
 * “Open in Browser”: opens the service's page of runs. This machine's own signs the browser in by a link that works once;
 * any other asks the person to sign in its own way.
 * @throws PipelineError `breaks-contract` for a link that leads elsewhere than to the service.
 */
export async function openInBrowser(deps: OpenInBrowserDeps): Promise<void> {
  const client = await deps.session.connect(deps.signal);
  const page = new URL("app/runs", client.baseUrl).href;
  const link = deps.target().kind === "embedded" ? await signInLink(client, deps.signal) : undefined;
  await deps.openExternal(link ?? page);
}

async function signInLink(client: ServiceClient, signal: AbortSignal): Promise<string | undefined> {
  try {
    const { url } = await client.signInLink(signal);
    if (new URL(url).origin === client.baseUrl.origin) return url;
  } catch (error) {
    if (error instanceof AbsentEndpoint) return undefined;
    throw error;
  }
  throw new PipelineError("breaks-contract", "The service's sign-in link leads to another address.");
}
