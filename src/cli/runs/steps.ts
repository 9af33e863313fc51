import type { ServiceClient } from "../../client/service/client.ts";
import { PipelineError } from "../../contract/errors.ts";
import type { Run } from "../../contract/run.ts";
import type { Pipeline } from "../../pipeline/pipeline.ts";
import { type Failure, failuresOf } from "../../text/failureLines.ts";

export type Steps = ReturnType<typeof stepsOf>;

export function stepsOf(client: ServiceClient, runId: string, signal: AbortSignal) {
  let run: Run | undefined;
  /** The steps of its pipeline file, once requested. */
  let ran: ReturnType<typeof ranSteps> | undefined;
  /** The last requested step, so that an unknown one isn't requested again for each of its lines. */
  let asked = -1;

  const names = (): readonly string[] => run?.steps?.map(({ name }) => name) ?? [];
  /** Requests the names of all steps so far. */
  const all = async (): Promise<readonly string[]> => {
    run = await client.run(runId, signal).catch(() => run);
    return names();
  };
  /** @returns undefined if the service doesn't list the step. */
  const nameOf = async (stepIndex: number): Promise<string | undefined> => {
    const known = names()[stepIndex];
    if (known !== undefined || asked === stepIndex) return known;
    asked = stepIndex;
    return (await all())[stepIndex];
  };
  /** Whether the step at an index has this name, else this number, counted from 1, else this id. */
  const isMeant = async (stepIndex: number, meant: string): Promise<boolean> => {
    const name = await nameOf(stepIndex);
    if (name === meant) return true;
    if (names().includes(meant)) return false;
    if (/^\d+$/.test(meant)) return meant === String(stepIndex + 1);
    ran ??= ranSteps(client, runId, signal);
    return (await ran)[stepIndex]?.id === meant;
  };
  /** Selects what belongs to the meant step; everything if no step is named. */
  const select = async <Of extends { readonly stepIndex: number }>(
    among: readonly Of[],
    meant: string | undefined,
  ): Promise<Of[]> => {
    if (meant === undefined) return [...among];
    const areMeant = await Promise.all(among.map(({ stepIndex }) => isMeant(stepIndex, meant)));
    return among.filter((_, index) => areMeant[index]);
  };
  return {
    nameOf,
    isMeant,
    select,
    async failures(): Promise<Failure[]> {
      await all();
      return run === undefined ? [] : failuresOf(run);
    },
    /** @throws PipelineError `not-found` if the run has no such step. */
    async require(meant: string): Promise<void> {
      const told = await all();
      const indexes = told.map((_, stepIndex) => ({ stepIndex }));
      if ((await select(indexes, meant)).length > 0) return;
      const next = told.length === 0 ? "It has told of no step yet." : `Its steps are: ${told.join(", ")}.`;
      throw new PipelineError("not-found", `The run has no step \`${meant}\`.`, { next });
    },
  };
}

/** A run's steps with their ids, from its pipeline file; empty if the service doesn't keep the file. */
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
