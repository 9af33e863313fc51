import { LineAssembler, type LogEntry } from "../../contract/log.ts";
import type { ServedRun } from "../../contract/run.ts";
import { parseSgr, type SgrStyle, stripEscapeSequences } from "../../text/escapeSequences.ts";
import { FailureLines, failuresOf } from "../../text/failureLines.ts";
import { type LogStore, readLogLine } from "../runs/logStore.ts";

/** The whole log so far as plain text, streamed, and behind it why steps failed. */
export function wholeLog(
  run: Pick<ServedRun, "runId" | "status" | "stoppedAt" | "steps" | "reason">,
  logs: Pick<LogStore, "reader">,
): ReadableStream<Uint8Array> {
  const { runId, steps = [] } = run;
  const reader = logs.reader(runId);
  const lines = new LineAssembler();
  const failures = new FailureLines();
  const encoder = new TextEncoder();
  let passed = 0;
  let step = -1;
  let endsLine = true;
  const textOf = (entry: Pick<LogEntry, "stepIndex" | "stream" | "text">): string => {
    const name = steps[entry.stepIndex]?.name ?? "another step";
    const heading = entry.stepIndex === step ? "" : `${endsLine ? "" : "\n"}== ${name}\n`;
    step = entry.stepIndex;
    endsLine = entry.text.endsWith("\n");
    const text = entry.text.split("\n").map(stripEscapeSequences).join("\n");
    return `${heading}${entry.stream === "note" ? "# " : ""}${text}`;
  };
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const piece = await reader.next(passed);
        if (piece === undefined) {
          await reader[Symbol.asyncDispose]();
          for (const line of lines.rest()) failures.add(line);
          for (const { stepIndex, text } of failures.beside(failuresOf(run))) {
            if (!endsLine) controller.enqueue(encoder.encode("\n"));
            endsLine = true;
            controller.enqueue(encoder.encode(textOf({ stepIndex, stream: "note", text: `${text}\n` })));
          }
          controller.close();
          return;
        }
        passed = piece.first + piece.lines.length - 1;
        const entries = piece.lines.flatMap(readLogLine);
        for (const line of entries.flatMap((entry) => lines.add(entry))) failures.add(line);
        controller.enqueue(encoder.encode(entries.map(textOf).join("")));
      },
      cancel: () => reader[Symbol.asyncDispose](),
    },
    { highWaterMark: 0 },
  );
}

/** The lines of {@link wholeLog} that have a text, in any case, below the names of their steps. */
export function linesWith(log: ReadableStream<Uint8Array>, wanted: string): ReadableStream<Uint8Array> {
  const found = wanted.toLowerCase();
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  let rest = "";
  let heading = "";
  let hasFound = false;
  const select = (text: string): Uint8Array => {
    const lines = `${rest}${text}`.split("\n");
    rest = lines.pop() ?? "";
    const shown = lines.flatMap((line) => {
      if (line.startsWith("== ")) heading = `${line}\n`;
      else if (line.toLowerCase().includes(found)) {
        const above = heading;
        heading = "";
        hasFound = true;
        return [`${above}${line}\n`];
      }
      return [];
    });
    return encoder.encode(shown.join(""));
  };
  return log.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform: (piece, controller) => controller.enqueue(select(decoder.decode(piece, { stream: true }))),
      flush(controller) {
        controller.enqueue(select("\n"));
        if (!hasFound) controller.enqueue(encoder.encode("No line of the log has this text.\n"));
      },
    }),
  );
}

/** A line of a step's log as it is shown. */
export interface PageLine {
  /** Stays the same when the line grows. */
  readonly id: string;
  readonly stepIndex: number;
  readonly stream: string;
  readonly text: string;
}

/** In characters; longer lines are cut. */
const longestLine = 2_000;

/** Joins entries to lines. A line may be spread over several entries of a stream; it stands where it began. */
export function linesOf(entries: readonly LogEntry[]): PageLine[] {
  const lines: { id: string; stepIndex: number; stream: string; text: string }[] = [];
  const unfinished = new Map<string, (typeof lines)[number]>();
  for (const { sequence, stepIndex, stream, text } of entries) {
    const of = `${stepIndex} ${stream}`;
    const pieces = text.split("\n");
    for (const [part, piece] of pieces.entries()) {
      if (part > 0) unfinished.delete(of);
      const open = unfinished.get(of);
      const isAfterLast = part === pieces.length - 1 && piece === "";
      if (open !== undefined) open.text += piece;
      else if (!isAfterLast) {
        const line = { id: `line-${sequence}-${part}`, stepIndex, stream, text: piece };
        lines.push(line);
        unfinished.set(of, line);
      }
    }
  }
  return lines.map((line) => ({ ...line, text: asLastWritten(line.text) }));
}

/** The text after the last carriage return, as a terminal shows a progress bar. */
function asLastWritten(text: string): string {
  const shown = text.replace(/\r+$/, "");
  const last = shown.slice(shown.lastIndexOf("\r") + 1);
  return last.length > longestLine ? `${last.slice(0, longestLine)}…` : last;
}

/** A piece of a line in one style. `classes` are those of ansi.css, empty for plain text. */
interface StyledText {
  readonly text: string;
  readonly classes: string;
}

/** A line of a program's output as pieces of text with classes; what would only move a terminal's cursor is left out. */
export function styledTexts(line: string): StyledText[] {
  return parseSgr(line).pieces.map(({ text, style }) => ({ text, classes: classesOf(style) }));
}

function classesOf({ foreground, background, effects }: SgrStyle): string {
  const names: string[] = [...effects].map((effect) => `ansi-${effect}`);
  if (foreground !== undefined) names.push(`ansi-${foreground}`);
  if (background !== undefined) names.push(`ansi-on-${background}`);
  return names.join(" ");
}
