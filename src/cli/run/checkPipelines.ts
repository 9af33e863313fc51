import type { ServiceClient } from "../../client/http/serviceClient.ts";
import { PipelineError } from "../../contract/errors.ts";
import type { PipelineEntry } from "../../contract/pipelineList.ts";
import { nearestName } from "../../pipeline/nearestName.ts";

/**
 * Looks whether every one of several pipelines can be run before the first is: a slip in the last name should not be
 * found when the others have used their runs of the day. A service that lists no pipelines, for whatever reason, is not
 * asked twice; it says itself what it can't start.
 *
 * @returns `not-found` for names that don't exist, `invalid-request` for broken files; undefined when all is well.
 * @throws the signal's reason.
 */
export async function checkPipelines(
  client: ServiceClient,
  names: readonly string[],
  project: string | undefined,
  signal: AbortSignal,
): Promise<PipelineError | undefined> {
  const listed = await listedPipelines(client, project, signal);
  if (listed.length === 0) return undefined;
  const wanted = [...new Set(names)];
  const known = new Set(listed.map(({ name }) => name));
  const missing = wanted.filter((name) => !known.has(name));
  if (missing.length > 0) return notThere(missing, [...known]);
  const broken = listed.filter(({ name, problem }) => problem !== undefined && wanted.includes(name));
  if (broken.length === 0) return undefined;
  const files = broken.length === 1 ? "A pipeline file" : `${broken.length} pipeline files`;
  const problems = broken.map(({ problem }) => problem).join("\n");
  return new PipelineError("invalid-request", `${files} can't be run, so none was started:\n${problems}`, {
    next: "Correct what is wrong, then run them again.",
  });
}

async function listedPipelines(
  client: ServiceClient,
  project: string | undefined,
  signal: AbortSignal,
): Promise<readonly PipelineEntry[]> {
  try {
    return (await client.pipelines(project, signal)).pipelines;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof PipelineError) return [];
    throw error;
  }
}

function notThere(missing: readonly string[], known: readonly string[]): PipelineError {
  const quoted = missing.map((name) => `\`${name}\``);
  const nearest = missing.map((name) => nearestName(name, known)).filter((name) => name !== undefined);
  return new PipelineError(
    "not-found",
    `There is no pipeline ${quoted.join(", nor ")}, so none was started.`,
    {
      next:
        nearest.length > 0
          ? `Did you mean ${[...new Set(nearest)].map((name) => `\`${name}\``).join(" and ")}?`
          : `There are: ${known.slice(0, 10).join(", ")}.`,
    },
  );
}
