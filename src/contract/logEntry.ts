import * as z from "zod/mini";
import { instant } from "./instant.ts";

/**
 * One entry of a run's log (contract: `GET /api/runs/{id}/log`). `sequence` counts from 1 within the run, without gaps.
 * `stream` is `stdout`, `stderr`, or `note` for what the runner and the service say; the texts of one stream of a step,
 * joined, are its output as it was. `stepIndex` counts the pipeline's steps from 0.
 */
export const logEntrySchema = z.object({
  sequence: z.int().check(z.positive()),
  at: instant,
  stepIndex: z.int().check(z.nonnegative()),
  stream: z.string(),
  text: z.string(),
});

export type LogEntry = z.infer<typeof logEntrySchema>;
