import { PipelineError } from "../../contract/errors.ts";
import { Deadline } from "./deadline.ts";
import { readBytes, readWhole, send } from "./exchange.ts";
import { replyError } from "./replyErrors.ts";
import { type Service, type ServiceCall, segment } from "./request.ts";

/** This project's service keeps at most 8 MiB. */
const largestMebibytes = 32;
const longestSilenceSeconds = 20;

/**
 * The bytes of an artifact (`GET /api/runs/{id}/artifacts/{file}`), which are not to be trusted.
 * @throws PipelineError `not-found` if there is no such file or it was removed; `AbsentEndpoint` from a service that keeps none;
 * `breaks-contract` for more than 32 MiB; as `ServiceClient` says.
 */
export async function readArtifact(
  service: Service,
  runId: string,
  file: string,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const path = `api/runs/${segment("id of a run", runId)}/artifacts/${segment("name of a kept file", file)}`;
  const call: ServiceCall = { method: "GET", path, headers: { accept: "*/*" } };
  using deadline = new Deadline(service.clock, signal, longestSilenceSeconds);
  const response = await send(service, call, deadline.signal, signal);
  if (response.status >= 400) {
    throw replyError(service, call, await readWhole(service, call, response, signal), "own, of something");
  }
  const most = largestMebibytes * 1024 * 1024;
  const bytes = await readBytes(service, response, most, signal, () => deadline.arm(longestSilenceSeconds));
  if (bytes !== undefined) return bytes;
  throw new PipelineError("breaks-contract", `The file is larger than ${largestMebibytes} MiB.`);
}
