import type { LogEntry } from "../../contract/log.ts";
import type { Run } from "../../contract/run.ts";
import type { ServiceClient } from "../service/client.ts";

/** What the steps of a run are called. A run in work gets to know its steps one after the other. */
export class StepNames {
  readonly #client: ServiceClient;
  readonly #runId: string;
  readonly #signal: AbortSignal;
  #names: readonly string[] = [];
  /** The step of the last question: a service that doesn't know it is not asked for each of its lines. */
  #asked = -1;

  constructor(client: ServiceClient, runId: string, signal: AbortSignal) {
    this.#client = client;
    this.#runId = runId;
    this.#signal = signal;
  }

  /** @returns undefined where the service doesn't tell. */
  readonly nameOf = async (stepIndex: number): Promise<string | undefined> => {
    const known = this.#names[stepIndex];
    if (known !== undefined || this.#asked === stepIndex) return known;
    this.#asked = stepIndex;
    await this.all();
    return this.#names[stepIndex];
  };

  /** The names of the steps that there are by now. */
  async all(): Promise<readonly string[]> {
    const run: Run | undefined = await this.#client.run(this.#runId, this.#signal).catch(() => undefined);
    this.#names = run?.steps?.map(({ name }) => name) ?? this.#names;
    return this.#names;
  }

  /** Whether an entry is of the step that a person means: by its name, else by its number, counted from 1. */
  async isOf({ stepIndex }: LogEntry, meant: string): Promise<boolean> {
    const name = await this.nameOf(stepIndex);
    if (name === meant) return true;
    return !this.#names.includes(meant) && meant === String(stepIndex + 1);
  }
}
