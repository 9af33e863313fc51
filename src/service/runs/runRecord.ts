import type { Artifact } from "../../contract/run.ts";
import type { Log } from "../log.ts";
import type { SavedArtifact, StepOutput } from "../runner/protocol.ts";
import type { RunLogs } from "./runLogs.ts";

/** What a run leaves behind beside its row: its log and what its steps keep, as its runner tells of them. */
export interface RunRecord {
  readonly onOutput: (output: StepOutput) => void;
  readonly onArtifact: (artifact: SavedArtifact) => void;
  /** Resolves when all that was told is kept; comes before the run's end is written. */
  complete(): Promise<void>;
  /** To be called when the run's end is written: who reads the log is told that this was all. */
  end(): void;
}

interface RecordDeps {
  readonly logs: Pick<RunLogs, "begin">;
  readonly log: Log;
  /** Writes an artifact down and tells of it. */
  readonly keep: (artifact: Artifact) => Promise<void>;
}

export function beginRecord(runId: string, { logs, log, keep }: RecordDeps): RunRecord {
  const runLog = logs.begin(runId);
  let writes: Promise<void> = Promise.resolve();
  return {
    onOutput: ({ at, index, stream, text }) => runLog.append({ at, stepIndex: index, stream, text }),
    onArtifact({ index, at, name, file, mediaType, bytes }) {
      writes = writes
        .then(() => keep({ name, file, stepIndex: index, mediaType, bytes, at }))
        .catch((error: unknown) => {
          log("error", "artifact not kept", { runId, file, error });
          const text = `${name} is lost: it couldn't be written down\n`;
          runLog.append({ at, stepIndex: index, stream: "note", text });
        });
    },
    async complete() {
      await writes;
      await runLog.complete();
    },
    end: () => runLog.end(),
  };
}
