/** The statuses that this project's service gives; a client shows any other as it is (contract: "Endpoints"). */
export const runStatuses = [
  "running",
  "cancelling",
  "succeeded",
  "failed",
  "cancelled",
  "timed-out",
  "lost",
] as const;

export type RunStatus = (typeof runStatuses)[number];

/** What a run's state is read from. */
interface RunState {
  readonly status: string;
  readonly stoppedAt?: string | undefined;
}

/** Whether a run holds its slot. One with an unknown status does while it has no `stopped-at` (contract: "Endpoints"). */
export function isActive({ status, stoppedAt }: RunState): boolean {
  if (status === "running" || status === "cancelling") return true;
  return runStatuses.some((known) => known === status) ? false : stoppedAt === undefined;
}

/**
 * The step that a run failed at, and its index: the one that failed, else the one that ran when the time limit passed or the
 * runner ended. Undefined for a run that is active, has succeeded or was cancelled.
 */
export function failedStep<Step extends { readonly status: string }>(
  run: RunState & { readonly steps?: readonly Step[] | undefined },
): { readonly index: number; readonly step: Step } | undefined {
  if (isActive(run) || run.status === "succeeded" || run.status === "cancelled") return undefined;
  const steps = run.steps ?? [];
  const failed = steps.findIndex(({ status }) => status === "failed");
  // The run's end gives a running step the run's own status or, in this project's service, `stopped`.
  const cutOff = steps.findIndex(({ status }) => status === run.status || status === "stopped");
  const index = failed === -1 ? cutOff : failed;
  const step = steps[index];
  return step === undefined ? undefined : { index, step };
}
