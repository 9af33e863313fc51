import type { ServiceClient } from "../../client/service/client.ts";
import type { Pipeline } from "../../pipeline/pipeline.ts";

/** A run's steps as its pipeline file has them, with their ids; none where the service doesn't keep the file. */
export async function ranSteps(
  client: ServiceClient,
  runId: string,
  signal: AbortSignal,
): Promise<Pipeline["steps"]> {
  const ran = await client.ranPipeline(runId, signal).catch(() => undefined);
  if (ran === undefined) return [];
  const { parsePipeline } = await import("../../pipeline/parsePipeline.ts");
  const parsed = parsePipeline(ran.texts[ran.path] ?? "", ran.path, (path) => {
    const text = ran.texts[path];
    return text === undefined ? undefined : { kind: "read", text };
  });
  return parsed.kind === "valid" ? parsed.pipeline.steps : [];
}
