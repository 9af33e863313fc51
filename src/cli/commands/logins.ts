import { clientOf, Logins, loginCommand } from "../../client/logins/logins.ts";
import { parseBaseUrl } from "../../client/service/request.ts";
import { exitCodes, PipelineError } from "../../contract/errors.ts";
import type { Org } from "../../contract/org.ts";
import { failureOf } from "../output/output.ts";
import type { Facts } from "../output/outputs.ts";
import { type Asking, readLine, readSecret } from "../terminal/readSecret.ts";
import { isSet, rowsFor } from "../terminal/terminal.ts";
import type { Tool } from "../tool.ts";

/**
 * `pipeline login`: reads an API key, tests it, and stores it for this service only.
 * @param named defaults to `PIPELINE_BASE_URL`, else to what the person types.
 */
export async function login(tool: Tool, _: object, named?: string): Promise<void> {
  const { output, env, interrupted } = tool;
  const asking = { input: process.stdin, prompt: process.stderr };
  const baseUrl = parseBaseUrl(named ?? (await namedService(tool, asking)));
  const { origin } = baseUrl;
  const apiKey = await readSecret(asking, `API key for ${origin} (it is not shown): `, interrupted);
  const { orgId, orgName, tier, actor: keyId } = await tested(tool, baseUrl, apiKey);

  const file = await new Logins(env).save({ baseUrl: baseUrl.href, apiKey, keyId, orgName });
  const outranking = ["PIPELINE_BASE_URL", "PIPELINE_API_KEY"].filter((name) => isSet(env, name));
  if (outranking.length > 0) {
    const verb = outranking.length === 1 ? "is" : "are";
    output.warn(`${outranking.join(" and ")} ${verb} set, so commands don't use this login.`);
  }
  output.result(
    "login",
    { baseUrl: baseUrl.href, orgId, orgName, tier, keyId, file },
    [
      `Logged in to ${baseUrl.href}: ${orgName} (${orgId}), tier ${tier}, with the key ${keyId}.`,
      `The key is saved in a file that only you can read: ${file}.`,
    ].join("\n"),
  );
}

async function namedService({ env, interrupted }: Tool, asking: Asking): Promise<string> {
  const named = env["PIPELINE_BASE_URL"] ?? "";
  if (named !== "") return named;
  const typed = asking.input.isTTY && (await readLine(asking, "Base URL of the service: ", interrupted));
  if (typed) return typed;
  throw new PipelineError("usage", "There is no service to log in to.", {
    next: "Name it: `pipeline login https://…`. This machine's own service needs no login.",
  });
}

/** Tests the key. @throws PipelineError as `ServiceClient.org`, adding that the key was not saved. */
async function tested({ output, env, interrupted }: Tool, baseUrl: URL, apiKey: string): Promise<Org> {
  const refusedKeyNext = `Check the key, then try again: \`${loginCommand(baseUrl.href)}\`.`;
  try {
    const onRetry = (fault: Error): void => output.passing(`${fault.message} Trying again …`);
    return await clientOf({ baseUrl, apiKey, refusedKeyNext }, env, { onRetry }).org(interrupted);
  } catch (error) {
    if (!(error instanceof PipelineError)) throw error;
    const message = `${error.message} The key was not saved.`;
    throw new PipelineError(error.type, message, { cause: error, next: error.next });
  }
}

/**
 * `pipeline logout`: removes keys. If the service in use is among them, commands use this machine's own again.
 * @param baseUrl defaults to `PIPELINE_BASE_URL`, else to the service in use.
 */
export async function logout(
  { output, env }: Tool,
  options: { readonly all?: true },
  baseUrl?: string,
): Promise<number> {
  const logins = new Logins(env);
  const named = baseUrl ?? env["PIPELINE_BASE_URL"] ?? "";
  const meant = async () => (named === "" ? logins.current() : parseBaseUrl(named).origin);
  const wanted = options.all ? await logins.origins() : [(await meant()) ?? []].flat();
  const origins: string[] = [];
  const faults: unknown[] = [];
  for (const origin of wanted) {
    try {
      if (await logins.remove(origin)) origins.push(origin);
    } catch (error) {
      faults.push(error);
    }
  }
  if (options.all) await logins.clearCurrent();
  const lines = origins.map((origin) => `Logged out of ${origin}: its key is forgotten here.`);
  if (faults.length > 0) {
    output.text(lines.join("\n"));
    const { failure, exitCode } = failureOf(faults[0]);
    const more = faults.length > 1 ? ` (and ${faults.length - 1} more failed)` : "";
    output.failure("logout", { ...failure, message: `${failure.message}${more}` }, { origins });
    return exitCode;
  }
  if (lines.length === 0)
    lines.push(wanted[0] === undefined ? "Not logged in." : `Not logged in to ${wanted[0]}.`);
  output.result("logout", { origins }, lines.join("\n"));
  if (origins.length > 0 && !output.json) {
    output.note("The service accepts a forgotten key until it is revoked.");
  }
  return exitCodes.done;
}

type Listed = Facts<"logins">["logins"][number];

/** `pipeline logins`: lists the service in use, with the reason, and every stored login. Sends no request. */
export async function listLogins({ output, env }: Tool): Promise<void> {
  const stored = new Logins(env);
  const current = await stored.current();
  const logins: Listed[] = [];
  for (const origin of await stored.origins()) {
    try {
      const login = await stored.find(origin);
      if (login === undefined) continue;
      const { baseUrl, keyId, orgName } = login;
      logins.push({ baseUrl, keyId, orgName, isCurrent: origin === current });
    } catch (error) {
      if (!(error instanceof PipelineError)) throw error;
      output.warn(`${error.message} ${error.next}`);
    }
  }
  const inUse = usedBy(env, logins, current);
  const rows = logins.map(({ isCurrent, baseUrl, keyId, orgName }) => [
    isCurrent ? "*" : " ",
    baseUrl,
    keyId,
    orgName,
  ]);
  output.result("logins", { inUse, logins }, rowsFor(output.out, rows));
  if (!output.json) output.note(sentence(inUse));
}

type InUse = Facts<"logins">["inUse"];

/** Decides like `serviceFor`, but without a request. */
function usedBy(env: Tool["env"], logins: readonly Listed[], current: string | undefined): InUse {
  const baseUrl = env["PIPELINE_BASE_URL"] ?? "";
  if (baseUrl !== "") {
    return { because: isSet(env, "PIPELINE_API_KEY") ? "environment" : "base-url", baseUrl };
  }
  if (isSet(env, "PIPELINE_API_KEY")) return { because: "environment" };
  if (current === undefined) return { because: "default" };
  const login = logins.find(({ isCurrent }) => isCurrent);
  return { because: "login", baseUrl: login?.baseUrl ?? current };
}

function sentence({ because, baseUrl }: InUse): string {
  switch (because) {
    case "environment":
      return baseUrl === undefined
        ? "PIPELINE_API_KEY is set without PIPELINE_BASE_URL, so commands don't know which service to use."
        : `Commands use ${baseUrl}, which PIPELINE_BASE_URL names, with the key of PIPELINE_API_KEY.`;
    case "base-url":
      return `Commands use ${baseUrl}, which PIPELINE_BASE_URL names, with the key saved for it.`;
    case "login":
      return `Commands use ${baseUrl}, to which you have logged in.`;
    case "default":
      return "Commands use this machine's own service, which needs no login.";
  }
}
