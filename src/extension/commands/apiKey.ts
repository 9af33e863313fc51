import type { window as vscodeWindow } from "vscode";
import { describeError, PipelineError } from "../../contract/errors.ts";
import type { ApiKeys } from "../apiKeys.ts";
import type { Session } from "../session.ts";
import { originOf, type Target } from "../target.ts";

export interface ApiKeyDeps {
  readonly keys: ApiKeys;
  readonly session: Session;
  readonly target: () => Target;
  readonly window: Pick<typeof vscodeWindow, "showInputBox" | "showInformationMessage" | "showErrorMessage">;
  readonly signal: AbortSignal;
}

/** “Set API Key…”: asks for the key of the service in use, tries it, and keeps it in the editor's secret storage. */
export async function setApiKey(deps: ApiKeyDeps): Promise<void> {
  const { keys, session, window, signal } = deps;
  const where = validTarget(deps);
  const origin = originOf(where);
  const key = await window.showInputBox({
    title: "Set API Key",
    prompt: promptFor(where),
    placeHolder: "The API key",
    password: true,
    ignoreFocusOut: true,
    validateInput: (text) =>
      /^[\x21-\x7e]*$/.test(text.trim()) ? undefined : "A key has no spaces or special letters.",
  });
  if (key === undefined || key.trim() === "") return;
  const candidate = key.trim();
  let told: string;
  try {
    const client = await session.clientWith(where, candidate, signal);
    told = `The API key is set: ${(await client.org(signal)).orgName}, at ${origin}.`;
  } catch (error) {
    if (error instanceof PipelineError && error.type === "unauthorized") {
      const again = "Try Again";
      const chosen = await window.showErrorMessage(
        `${origin} does not accept this API key. It was not kept.`,
        again,
      );
      if (chosen === again) await setApiKey(deps);
      return;
    }
    // Nothing is lost because a service is down just now.
    told = `The API key is kept, but could not be tried. ${describeError(error)}`;
  }
  await keys.set(origin, candidate);
  session.watch();
  void window.showInformationMessage(told);
}

/** “Remove API Key”: forgets the key of the service in use. */
export async function removeApiKey(deps: ApiKeyDeps): Promise<void> {
  const origin = originOf(validTarget(deps));
  if ((await deps.keys.get(origin)) === undefined) {
    void deps.window.showInformationMessage(`There is no API key for ${origin}.`);
    return;
  }
  await deps.keys.remove(origin);
  void deps.window.showInformationMessage(`The API key for ${origin} is removed.`);
}

function validTarget({ target }: ApiKeyDeps): Exclude<Target, { kind: "invalid" }> {
  const where = target();
  if (where.kind === "invalid") throw where.error;
  return where;
}

function promptFor(target: Exclude<Target, { kind: "invalid" }>): string {
  return target.kind === "remote"
    ? `For ${target.baseUrl.origin} (setting pipelineRuns.baseUrl). It is kept in the editor's secret storage.`
    : "This machine's own service needs no key; one entered here acts as another member. For the cloud, set pipelineRuns.baseUrl first.";
}
