import type { LogEntry } from "../../src/contract/log.ts";
import type { RunStep } from "../../src/contract/run.ts";
import { toWire } from "../../src/contract/wire.ts";
import { addArtifact } from "../../src/service/store/runFiles.ts";
import { putSteps } from "../../src/service/store/runs.ts";
import type { Service } from "../service/startedService.ts";

const at = "2026-03-01T08:00:00.000Z";

interface StepsKept {
  readonly steps?: readonly (Partial<RunStep> & { readonly name: string })[];
  readonly log?: readonly (Partial<LogEntry> & { readonly text: string })[];
  readonly files?: readonly {
    readonly name: string;
    readonly file: string;
    readonly mediaType: string;
    readonly content: string | Uint8Array;
    readonly stepIndex?: number;
  }[];
}

/** Gives a run that is in the database already steps, a log and artifacts, as if it had really run. */
export async function putLog(
  service: Pick<Service, "db" | "putFiles">,
  runId: string,
  { steps = [], log = [], files = [] }: StepsKept,
): Promise<void> {
  const entries = log.map((entry, index) => ({
    sequence: index + 1,
    at,
    stepIndex: 0,
    stream: "stdout",
    ...entry,
  }));
  const lines = entries.map((entry) => JSON.stringify(toWire(entry)));
  await service.putFiles(runId, lines, files);
  await service.db.transaction().execute(async (tx) => {
    const ended = { type: "cli", status: "succeeded", startedAt: at, stoppedAt: at } as const;
    await putSteps(tx, runId, new Map(steps.map((step, position) => [position, { ...ended, ...step }])));
    for (const { name, file, mediaType, content, stepIndex = 0 } of files) {
      const bytes = Buffer.byteLength(content);
      await addArtifact(tx, runId, { name, file, mediaType, bytes, stepIndex, at });
    }
  });
}
