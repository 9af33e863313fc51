import { hostname } from "node:os";
import { join } from "node:path";
import { clientOf, Logins, loginCommand } from "../../client/logins/logins.ts";
import { parseBaseUrl } from "../../client/service/request.ts";
import { PipelineError } from "../../contract/errors.ts";
import { systemClock } from "../../machine/clock.ts";
import { lineLog, logLevel, standardErrorLog } from "../../machine/log.ts";
import { RunnerApi } from "../../team/runnerMachine/runnerApi.ts";
import { runMachine } from "../../team/runnerMachine/runnerMachine.ts";
import { unpackSnapshot } from "../../team/runnerMachine/unpackSnapshot.ts";
import type { Tool } from "../tool.ts";

interface RunnerOptions {
  readonly service: string;
  readonly slots: number;
  readonly label?: string;
  readonly once?: boolean;
}

/** `pipeline runner`: runs the service's work for this machine until an interrupt or, with `--once`, the end of one run. */
export async function run(tool: Tool, { service, slots, label, once = false }: RunnerOptions): Promise<void> {
  const { output, env, interrupted } = tool;
  const runnerPath = join(tool.programs, "runner.js");
  const baseUrl = parseBaseUrl(service);
  const client = clientOf(await keyFor(tool, baseUrl), env, {});
  await runMachine(
    {
      api: new RunnerApi(client),
      clock: systemClock,
      log: lineLog(standardErrorLog(), Date.now, logLevel(env)),
      ...{ label: label ?? hostname(), slots, isOnce: once },
      program: { execPath: process.execPath, runnerPath, env },
      unpack: unpackSnapshot,
      onRegistered: (runnerId) =>
        output.exactResult(
          "runner",
          { runnerId, service: baseUrl.href, slots },
          `Taking work of ${baseUrl.href} as ${runnerId}. Ctrl-C ends it once its runs are over.`,
        ),
    },
    interrupted,
  );
}

/**
 * The key for the service: PIPELINE_API_KEY, unless PIPELINE_BASE_URL shows that it belongs to another service; otherwise the
 * login's key.
 */
async function keyFor({ env }: Tool, baseUrl: URL) {
  const apiKey = env["PIPELINE_API_KEY"] ?? "";
  const named = env["PIPELINE_BASE_URL"] ?? "";
  if (apiKey !== "" && named !== "" && parseBaseUrl(named).origin !== baseUrl.origin) {
    const message = "PIPELINE_API_KEY is the key of the service that PIPELINE_BASE_URL names.";
    throw new PipelineError("usage", message, {
      next: `That isn't ${baseUrl.host}: unset PIPELINE_BASE_URL, or set both to the service of --service.`,
    });
  }
  if (apiKey !== "") {
    return { baseUrl, apiKey, refusedKeyNext: `Set PIPELINE_API_KEY to a runner's key of ${baseUrl.host}.` };
  }
  const login = await new Logins(env).find(baseUrl.origin);
  const next = `Set PIPELINE_API_KEY to a key of the role runner, or log in with one: \`${loginCommand(baseUrl.href)}\`.`;
  if (login === undefined) {
    throw new PipelineError("unauthorized", `There is no API key for ${baseUrl.host}.`, { next });
  }
  return { baseUrl, apiKey: login.apiKey, refusedKeyNext: next };
}
