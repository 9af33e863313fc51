/** The statuses of this project's service; a client shows any other status unchanged (contract: "Endpoints"). */
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

/** The fields that tell whether a run is active. */
interface RunState {
  readonly status: string;
  readonly stoppedAt?: string | undefined;
}

/** Whether a run holds its slot. With an unknown status, it does until it has a `stopped-at` (contract: "Endpoints"). */
export function isActive({ status, stoppedAt }: RunState): boolean {
  if (status === "running" || status === "cancelling") return true;
  return runStatuses.some((known) => known === status) ? false : stoppedAt === undefined;
}

/**
 * The step that a run failed at, with its index: the failed step, else the one that was running when the time limit passed or the
 * runner ended. Undefined for a run that is active, succeeded or was cancelled.
 */
export function failedStep<Step extends { readonly status: string }>(
  run: RunState & { readonly steps?: readonly Step[] | undefined },
): { readonly index: number; readonly step: Step } | undefined {
  if (isActive(run) || run.status === "succeeded" || run.status === "cancelled") return undefined;
  const steps = run.steps ?? [];
  const failed = steps.findIndex(({ status }) => status === "failed");
  // When a run ends, a step that was running gets the run's status or, in this project's service, `stopped`.
  const cutOff = steps.findIndex(({ status }) => status === run.status || status === "stopped");
  const index = failed === -1 ? cutOff : failed;
  const step = steps[index];
  return step === undefined ? undefined : { index, step };
}
