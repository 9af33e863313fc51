import type { ServiceClient } from "../../client/service/client.ts";
import { PipelineError } from "../../contract/errors.ts";
import type { Run } from "../../contract/run.ts";
import type { Pipeline } from "../../pipeline/pipeline.ts";
import { type Failure, failuresOf } from "../../text/failureLines.ts";

/** A run's steps, which the service lists as they start. */
export class Steps {
  readonly #client: ServiceClient;
  readonly #runId: string;
  readonly #signal: AbortSignal;
  #run: Run | undefined;
  /** Those of its pipeline file, once it was asked for. */
  #ran: ReturnType<typeof ranSteps> | undefined;
  /** The last requested step, so that an unknown one isn't requested for each of its lines. */
  #asked = -1;

  constructor(client: ServiceClient, runId: string, signal: AbortSignal) {
    this.#client = client;
    this.#runId = runId;
    this.#signal = signal;
  }

  /** @returns undefined where the service doesn't list the step. */
  readonly nameOf = async (stepIndex: number): Promise<string | undefined> => {
    const known = this.#names()[stepIndex];
    if (known !== undefined || this.#asked === stepIndex) return known;
    this.#asked = stepIndex;
    return (await this.all())[stepIndex];
  };

  #names(): readonly string[] {
    return this.#run?.steps?.map(({ name }) => name) ?? [];
  }

  /** Requests the names of all steps so far. */
  async all(): Promise<readonly string[]> {
    this.#run = await this.#client.run(this.#runId, this.#signal).catch(() => this.#run);
    return this.#names();
  }

  /** Whether the step of an index is the one of this name, or else of this number, counted from 1, or else of this id. */
  async isMeant(stepIndex: number, meant: string): Promise<boolean> {
    const name = await this.nameOf(stepIndex);
    if (name === meant) return true;
    if (this.#names().includes(meant)) return false;
    if (/^\d+$/.test(meant)) return meant === String(stepIndex + 1);
    this.#ran ??= ranSteps(this.#client, this.#runId, this.#signal);
    return (await this.#ran)[stepIndex]?.id === meant;
  }

  /** What is of the step that is meant; all where none is. */
  async select<Of extends { readonly stepIndex: number }>(
    all: readonly Of[],
    meant: string | undefined,
  ): Promise<Of[]> {
    if (meant === undefined) return [...all];
    const areMeant = await Promise.all(all.map(({ stepIndex }) => this.isMeant(stepIndex, meant)));
    return all.filter((_, index) => areMeant[index]);
  }

  /** Why the steps so far failed. */
  async failures(): Promise<Failure[]> {
    await this.all();
    return this.#run === undefined ? [] : failuresOf(this.#run);
  }

  /** @throws PipelineError `not-found` where the run has no such step. */
  async require(meant: string): Promise<void> {
    const names = await this.all();
    const indexes = names.map((_, stepIndex) => ({ stepIndex }));
    if ((await this.select(indexes, meant)).length > 0) return;
    const known = names.length === 0 ? "It has told of no step yet." : `Its steps are: ${names.join(", ")}.`;
    throw new PipelineError("not-found", `The run has no step \`${meant}\`.`, { next: known });
  }
}

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
