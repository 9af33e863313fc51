import { Logins } from "../../client/credentials/logins.ts";
import { PipelineError } from "../../contract/errors.ts";
import { exitCodes } from "../../contract/exitCodes.ts";
import { isSet } from "../environment.ts";
import type { Facts } from "../outputs.ts";
import { rowsFor } from "../table.ts";
import type { Tool } from "../tool.ts";

type Listed = Facts<"logins">["logins"][number];

/** `pipeline logins`: which service commands use and why, and each that a key is kept for. It asks no service. */
export async function listLogins({ output, env }: Tool): Promise<number> {
  const kept = new Logins(env);
  const current = await kept.current();
  const logins: Listed[] = [];
  for (const origin of await kept.origins()) {
    try {
      const login = await kept.of(origin);
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
  return exitCodes.done;
}

type InUse = Facts<"logins">["inUse"];

/** As `serviceFor` decides, without asking anybody. */
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
      return `Commands use ${baseUrl}, which PIPELINE_BASE_URL names, with the key kept for it.`;
    case "login":
      return `Commands use ${baseUrl}, to which you have logged in.`;
    case "default":
      return "Commands use this machine's own service, which needs no login.";
    default:
      return because satisfies never;
  }
}
