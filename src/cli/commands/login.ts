import { Logins, loginCommand } from "../../client/credentials/logins.ts";
import { parseBaseUrl } from "../../client/http/baseUrl.ts";
import { clientOf } from "../../client/serviceFor.ts";
import { PipelineError } from "../../contract/errors.ts";
import { exitCodes } from "../../contract/exitCodes.ts";
import type { Org } from "../../contract/org.ts";
import { isSet } from "../environment.ts";
import { type Input, readLine, readSecret } from "../readSecret.ts";
import type { Stream } from "../terminal.ts";
import type { Tool } from "../tool.ts";

export interface LoginOptions {
  /** The service; that of `PIPELINE_BASE_URL`, or the one that is typed, when left out. */
  readonly baseUrl: string | undefined;
  readonly input: Input;
  /** Where a person is asked. */
  readonly prompt: Stream;
}

/** `pipeline login`: reads an API key, tries it, and keeps it for the service that it was entered for. */
export async function login(tool: Tool, options: LoginOptions): Promise<number> {
  const { output, env, interrupted } = tool;
  const { input, prompt } = options;
  const baseUrl = parseBaseUrl(options.baseUrl ?? (await namedService(tool, input, prompt)));
  const { origin } = baseUrl;
  const apiKey = await readSecret(input, prompt, `API key for ${origin} (it is not shown): `, interrupted);
  const { orgId, orgName, tier, actor: keyId } = await tried(tool, baseUrl, apiKey);

  const file = await new Logins(env).keep({ baseUrl: baseUrl.href, apiKey, keyId, orgName });
  const outranking = ["PIPELINE_BASE_URL", "PIPELINE_API_KEY"].filter((name) => isSet(env, name));
  if (outranking.length > 0) {
    const verb = outranking.length === 1 ? "is" : "are";
    output.warn(`This login is outranked by ${outranking.join(" and ")}, which ${verb} set.`);
  }
  output.result(
    "login",
    { baseUrl: baseUrl.href, orgId, orgName, tier, keyId, file },
    [
      `Logged in to ${baseUrl.href}: ${orgName} (${orgId}), tier ${tier}, with the key ${keyId}.`,
      `The key is kept in a file that only you can read: ${file}.`,
    ].join("\n"),
  );
  return exitCodes.done;
}

async function namedService({ env, interrupted }: Tool, input: Input, prompt: Stream): Promise<string> {
  const named = env["PIPELINE_BASE_URL"] ?? "";
  if (named !== "") return named;
  const typed = input.isTTY
    ? await readLine(input, prompt, "Base URL of the service: ", interrupted)
    : undefined;
  if (typed !== undefined && typed !== "") return typed;
  throw new PipelineError("usage", "There is no service to log in to.", {
    next: "Name it: `pipeline login https://…`. This machine's own service needs no login.",
  });
}

/** @throws PipelineError that also says that the key was not kept; as `ServiceClient.org`. */
async function tried({ output, env, interrupted }: Tool, baseUrl: URL, apiKey: string): Promise<Org> {
  const refusedKeyNext = `Check the key, then try again: \`${loginCommand(baseUrl.href)}\`.`;
  try {
    const onRetry = (fault: Error): void => output.passing(`${fault.message} Trying again …`);
    return await clientOf({ baseUrl, apiKey, refusedKeyNext }, env, { onRetry }).org(interrupted);
  } catch (error) {
    if (!(error instanceof PipelineError)) throw error;
    const message = `${error.message} The key was not kept.`;
    throw new PipelineError(error.type, message, { cause: error, next: error.next });
  }
}
