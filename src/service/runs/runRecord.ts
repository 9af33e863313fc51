import type { Artifact } from "../../contract/run.ts";
import type { Log } from "../../machine/log.ts";
import type { SavedArtifact, StepOutput } from "../../runner/launch/messages.ts";
import type { RunLogs } from "./runLogs.ts";

/** Takes a run's output and artifacts from its runner, and writes its log. */
export interface RunRecord {
  readonly onOutput: (output: StepOutput) => void;
  readonly onArtifact: (artifact: SavedArtifact) => void;
  /** Resolves when all is written. Called before the run's end is written. */
  complete(): Promise<void>;
  /** Ends the log for its readers. Called after the run's end is written. */
  end(): void;
}

interface RecordDeps {
  readonly logs: Pick<RunLogs, "begin">;
  readonly log: Log;
  /** Stores an artifact and emits an event. */
  readonly addArtifact: (artifact: Artifact) => Promise<void>;
}

export function beginRecord(runId: string, { logs, log, addArtifact }: RecordDeps): RunRecord {
  const runLog = logs.begin(runId);
  let writes: Promise<void> = Promise.resolve();
  return {
    onOutput: ({ at, index, stream, text }) => runLog.append({ at, stepIndex: index, stream, text }),
    onArtifact({ index, at, name, file, mediaType, bytes }) {
      const written = addArtifact({ name, file, stepIndex: index, mediaType, bytes, at }).catch(
        (error: unknown) => {
          log("error", "artifact not stored", { runId, file, error });
          const text = `${name} is lost: it couldn't be stored\n`;
          runLog.append({ at, stepIndex: index, stream: "note", text });
        },
      );
      writes = Promise.all([writes, written]).then(() => {});
    },
    async complete() {
      await writes;
      await runLog.complete();
    },
    end: () => runLog.end(),
  };
}
