import type { Mask } from "./mask.ts";

/** How a step ended. `message` is for people: masked where it is cut short, and masked as a whole before it is told. */
export type StepOutcome =
  | { readonly kind: "succeeded" }
  | { readonly kind: "failed"; readonly message: string };

export const succeeded: StepOutcome = { kind: "succeeded" };

export function failed(message: string): StepOutcome {
  return { kind: "failed", message };
}

/** What a step runs with. */
export interface StepSurroundings {
  /** The project's folder. */
  readonly root: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly platform: NodeJS.Platform;
  readonly mask: Mask;
  /** Aborted when the run is to end: nothing may be started any more. */
  readonly signal: AbortSignal;
  /** Told of each program started. On Linux and macOS its id is its process group's as well. */
  readonly onSpawned: (pid: number) => void;
}
