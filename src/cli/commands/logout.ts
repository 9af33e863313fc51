import { Logins } from "../../client/credentials/logins.ts";
import { parseBaseUrl } from "../../client/http/baseUrl.ts";
import { exitCodes } from "../../contract/exitCodes.ts";
import { failureOf } from "../output.ts";
import type { Tool } from "../tool.ts";

export interface LogoutOptions {
  /** The service; that of `PIPELINE_BASE_URL`, or the one in use, when left out. */
  readonly baseUrl: string | undefined;
  readonly all: boolean;
}

/** `pipeline logout`: forgets keys. A service that isn't in use any more gives way to this machine's own. */
export async function logout(tool: Tool, options: LogoutOptions): Promise<number> {
  const { output, env } = tool;
  const logins = new Logins(env);
  const wanted = await originsOf(logins, options, env["PIPELINE_BASE_URL"] ?? "");
  const origins: string[] = [];
  const faults: unknown[] = [];
  for (const origin of wanted) {
    try {
      if (await logins.forget(origin)) origins.push(origin);
    } catch (error) {
      faults.push(error);
    }
  }
  if (options.all) await logins.leave();
  const told = origins.map((origin) => `Logged out of ${origin}: its key is forgotten here.`);
  if (faults.length > 0) {
    output.text(told.join("\n"));
    const { failure, exitCode } = failureOf(faults[0]);
    const more = faults.length > 1 ? ` (and ${faults.length - 1} more failed)` : "";
    output.failure("logout", { ...failure, message: `${failure.message}${more}` }, { origins });
    return exitCode;
  }
  if (told.length === 0)
    told.push(wanted[0] === undefined ? "Not logged in." : `Not logged in to ${wanted[0]}.`);
  output.result("logout", { origins }, told.join("\n"));
  if (origins.length > 0 && !output.json) {
    output.note("The service still accepts a key that is forgotten here, until it is revoked.");
  }
  return exitCodes.done;
}

async function originsOf(
  logins: Logins,
  { baseUrl, all }: LogoutOptions,
  named: string,
): Promise<readonly string[]> {
  if (all) return logins.origins();
  const text = baseUrl ?? named;
  if (text !== "") return [parseBaseUrl(text).origin];
  const current = await logins.current();
  return current === undefined ? [] : [current];
}
