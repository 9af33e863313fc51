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
