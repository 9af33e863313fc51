import { withoutAnsi } from "../../contract/ansi.ts";
import type { LogEntry } from "../../contract/logEntry.ts";
import type { ServedRun } from "../../contract/run.ts";
import type { RunLogs } from "../runLog/runLogs.ts";
import { readLogEntry } from "./logTail.ts";

/** All of a run's log as it is by now, as plain text, no more of it in memory than is being sent. */
export function wholeLog(
  { runId, steps = [] }: Pick<ServedRun, "runId" | "steps">,
  logs: Pick<RunLogs, "reader" | "readable">,
): ReadableStream<Uint8Array> {
  const reader = logs.reader(runId);
  const encoder = new TextEncoder();
  let passed = 0;
  let step = -1;
  const textOf = (entry: LogEntry): string => {
    const heading = entry.stepIndex === step ? "" : `== ${steps[entry.stepIndex]?.name ?? "another step"}\n`;
    step = entry.stepIndex;
    const text = entry.text.split("\n").map(withoutAnsi).join("\n");
    return `${heading}${entry.stream === "note" ? "# " : ""}${text}`;
  };
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const piece = await reader.next(passed, logs.readable(runId));
        if (piece === undefined) {
          await reader[Symbol.asyncDispose]();
          controller.close();
          return;
        }
        passed = piece.first + piece.lines.length - 1;
        controller.enqueue(encoder.encode(piece.lines.flatMap(readLogEntry).map(textOf).join("")));
      },
      cancel: () => reader[Symbol.asyncDispose](),
    },
    { highWaterMark: 0 },
  );
}
