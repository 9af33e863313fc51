import { PipelineError } from "../../contract/errors.ts";
import { retentionDays } from "../../contract/limits.ts";

/** How long the logs and artifacts of ended runs are kept. The runs themselves are kept for good. */
export interface Retention {
  readonly days: number;
  /** Of all runs together; the oldest go first. */
  readonly bytes: number;
}

export const retentionByDefault: Retention = { days: retentionDays.byDefault, bytes: 2 * 1024 ** 3 };

/**
 * The days that `PIPELINE_RETENTION_DAYS` names; undefined where it names none.
 * @throws PipelineError `usage` for what is no such number.
 */
export function retentionDaysOf(env: Readonly<Record<string, string | undefined>>): number | undefined {
  const written = env["PIPELINE_RETENTION_DAYS"] ?? "";
  if (written === "") return undefined;
  const days = /^\d{1,4}$/.test(written) ? Number(written) : 0;
  if (days >= 1 && days <= retentionDays.atMost) return days;
  throw new PipelineError("usage", `PIPELINE_RETENTION_DAYS is \`${written.slice(0, 40)}\`.`, {
    next: `Set it to a whole number of days from 1 to ${retentionDays.atMost}, or to nothing for ${retentionDays.byDefault}.`,
  });
}
