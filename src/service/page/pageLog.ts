import { LineAssembler, type LogEntry, type LogLine } from "../../contract/log.ts";
import type { ServedRun } from "../../contract/run.ts";
import { parseSgr, type SgrStyle, stripEscapeSequences } from "../../text/escapeSequences.ts";
import { FailureLines, failuresOf } from "../../text/failureLines.ts";
import { type LogReader, type LogStore, readLogLine } from "../runs/logStore.ts";

/**
 * The log so far as plain text, streamed: its lines under the names of their steps, and at the end why steps failed.
 * @param wanted only the lines that contain this text, ignoring case.
 */
export async function logText(
  run: Pick<ServedRun, "runId" | "status" | "stoppedAt" | "steps" | "reason">,
  logs: Pick<LogStore, "reader">,
  wanted = "",
): Promise<ReadableStream<Uint8Array>> {
  return ReadableStream.from(textPieces(run, await logs.reader(run.runId), wanted.toLowerCase()));
}

async function* textPieces(
  run: Parameters<typeof logText>[0],
  opened: LogReader,
  wanted: string,
): AsyncGenerator<Uint8Array, void> {
  const { steps = [] } = run;
  const lines = new LineAssembler();
  const failures = new FailureLines();
  const encoder = new TextEncoder();
  let step = -1;
  const textOf = ({ stepIndex, stream, text }: Pick<LogLine, "stepIndex" | "stream" | "text">): string => {
    const plain = stripEscapeSequences(text);
    if (!plain.toLowerCase().includes(wanted)) return "";
    const heading = stepIndex === step ? "" : `== ${steps[stepIndex]?.name ?? "another step"}\n`;
    step = stepIndex;
    return `${heading}${stream === "note" ? "# " : ""}${plain}\n`;
  };
  const taken = (whole: readonly LogLine[]): Uint8Array => {
    for (const line of whole) failures.add(line);
    return encoder.encode(whole.map(textOf).join(""));
  };
  await using reader = opened;
  for (let passed = 0; ; ) {
    const piece = await reader.next(passed);
    if (piece === undefined) break;
    passed = piece.first + piece.lines.length - 1;
    yield taken(piece.lines.flatMap(readLogLine).flatMap((entry) => lines.add(entry)));
  }
  yield taken(lines.rest());
  const notes = failures.notInLog(failuresOf(run)).map((failure) => textOf({ ...failure, stream: "note" }));
  yield encoder.encode(notes.join(""));
  if (wanted !== "" && step === -1) yield encoder.encode("No line of the log has this text.\n");
}

/** In characters; longer lines are cut. */
const longestLine = 2_000;

/** The lines of entries as the page shows them, including unfinished ones. */
export function linesOf(entries: readonly LogEntry[]): LogLine[] {
  const lines = new LineAssembler();
  const whole = entries.flatMap((entry) => lines.add(entry));
  return [...whole, ...lines.rest()].map((line) =>
    line.text.length > longestLine ? { ...line, text: `${line.text.slice(0, longestLine)}…` } : line,
  );
}

/** A piece of a line in one style. `classes` are those of ansi.css, empty for plain text. */
interface StyledText {
  readonly text: string;
  readonly classes: string;
}

/** A line of a program's output as styled pieces of text; escape sequences that only move the cursor are left out. */
export function styledTexts(line: string): StyledText[] {
  return parseSgr(line).pieces.map(({ text, style }) => ({ text, classes: classesOf(style) }));
}

function classesOf({ foreground, background, effects }: SgrStyle): string {
  const names: string[] = [...effects].map((effect) => `ansi-${effect}`);
  if (foreground !== undefined) names.push(`ansi-${shadeOf(foreground)}`);
  if (background !== undefined) names.push(`ansi-on-${shadeOf(background)}`);
  return names.join(" ");
}

/** The page shows a bright colour like its plain one, except grey (bright black) and bright white. */
function shadeOf(color: number): number {
  return color > 8 && color < 15 ? color - 8 : color;
}
