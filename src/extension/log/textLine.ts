import { t } from "@vscode/l10n";
import { withoutSecret } from "../../client/service/foreignText.ts";
import type { LogLine } from "../../contract/log.ts";
import { runCommand } from "../../contract/refusal.ts";
import { actorText, nameOf, type Run, type RunStep, reasonText } from "../../contract/run.ts";
import { failedStep } from "../../contract/runStatus.ts";
import { controlCharacters } from "../../text/controlCharacters.ts";
import { defaultStyle, isSameStyle, parseSgr, type SgrStyle } from "../../text/escapeSequences.ts";
import { withoutRepeatedLines } from "../../text/failureLines.ts";
import { tookText } from "../../text/time.ts";
import { stepNotes } from "../../text/timeline.ts";
import { inputsText, outputsText, statusText, toOneLine } from "../window/runText.ts";
import { type FileLink, findFileLinks } from "./fileLinks.ts";

/** A line of a log's document. Columns count UTF-16 units from 0, as the editor does. */
export interface TextLine {
  readonly text: string;
  readonly styles: readonly StyledRange[];
  readonly links: readonly TextLink[];
  /** The step's stream that wrote it; undefined for the document's own lines. */
  readonly stream?: string;
}

interface StyledRange {
  readonly start: number;
  readonly end: number;
  readonly style: SgrStyle;
}

type TextLink =
  | FileLink
  /** Leads to a kept file, by the path of its URI. */
  | { readonly kind: "kept"; readonly start: number; readonly end: number; readonly path: string }
  /** Starts a new run at the step that failed. */
  | { readonly kind: "failed-step"; readonly start: number; readonly end: number };

const none: readonly never[] = [];

/** A line of the document itself, made of pieces in one style each. */
export function ownLine(
  ...pieces: readonly (string | { readonly text: string; readonly style: SgrStyle })[]
): TextLine {
  const styles: StyledRange[] = [];
  let text = "";
  for (const piece of pieces) {
    const start = text.length;
    text += typeof piece === "string" ? piece : piece.text;
    if (typeof piece !== "string" && piece.text !== "")
      styles.push({ start, end: text.length, style: piece.style });
  }
  return { text, styles, links: none };
}

function indented(line: TextLine, by: string): TextLine {
  const moved = <T extends { readonly start: number; readonly end: number }>(range: T): T => ({
    ...range,
    start: range.start + by.length,
    end: range.end + by.length,
  });
  return { ...line, text: by + line.text, styles: line.styles.map(moved), links: line.links.map(moved) };
}

const style = (foreground: number | undefined, ...effects: ("bold" | "dim")[]): SgrStyle => ({
  foreground,
  background: undefined,
  effects: new Set(effects),
});

export const textStyles = {
  strong: style(undefined, "bold"),
  quiet: style(undefined, "dim"),
  good: style(2, "bold"),
  bad: style(1, "bold"),
  busy: style(4, "bold"),
  ended: style(3, "bold"),
} as const;

/**
 * Makes lines of the document from lines of a log, without escape sequences, control characters and API keys. Keys are searched
 * for in the visible text, since removing characters could restore a key.
 */
export class LineMaker {
  readonly #apiKeys: ReadonlySet<string>;
  /** The style that a stream has left open, which continues in its next line. */
  readonly #begun = new Map<string, SgrStyle>();

  /** @param apiKeys all keys that were sent to the service; more may be added. */
  constructor(apiKeys: ReadonlySet<string>) {
    this.#apiKeys = apiKeys;
  }

  whole(line: LogLine): TextLine {
    const key = `${line.stepIndex} ${line.stream}`;
    const { made, after } = this.#make(line, this.#begun.get(key));
    if (isSameStyle(after, defaultStyle)) this.#begun.delete(key);
    else this.#begun.set(key, after);
    return made;
  }

  /** An unfinished line, which will be made again. */
  begun(line: LogLine): TextLine {
    return this.#make(line, this.#begun.get(`${line.stepIndex} ${line.stream}`)).made;
  }

  #make(
    { text: written, stream }: LogLine,
    before: SgrStyle | undefined,
  ): { readonly made: TextLine; readonly after: SgrStyle } {
    // A fast path for most lines.
    if (before === undefined && !special.test(written))
      return { made: this.#plain(written, stream), after: defaultStyle };
    const { pieces, after } = parseSgr(written, before);
    const seen = pieces.map(({ text }) => text).join("");
    const plain = this.#plain(seen, stream);
    // A line with a key loses its colours, which may be within the key.
    return { made: plain.text === seen ? { ...plain, styles: looksOf(pieces) } : plain, after };
  }

  #plain(seen: string, stream: string): TextLine {
    let text = seen;
    for (const apiKey of this.#apiKeys) text = withoutSecret(text, apiKey);
    const links = mayNamePlace.test(text) ? findFileLinks(text) : none;
    return { text, styles: none, links: links.length === 0 ? none : links, stream };
  }
}

/** One of these characters is in each file link. */
const mayNamePlace = /[:(/]/;
/** Control characters, which aren't shown. */
const special = new RegExp(`(?!\\t)[${controlCharacters}]`, "u");

function looksOf(pieces: ReturnType<typeof parseSgr>["pieces"]): readonly StyledRange[] {
  const styles: StyledRange[] = [];
  let start = 0;
  for (const { text, style } of pieces) {
    const end = start + text.length;
    if (!isSameStyle(style, defaultStyle)) styles.push({ start, end, style });
    start = end;
  }
  return styles.length === 0 ? none : styles;
}

const margin = "  ";
const mostOfMessage = 20;
const longestValues = 500;

export interface HeadDeps {
  /** The id of this window's key, if known. */
  readonly me: string | undefined;
  /** The number of lines dropped from the document. */
  readonly leftOut: number;
  readonly timeText: (instant: string) => string;
}

/** The first lines: the run, its status, and when and by whom it was started. */
export function headLines(run: Run, { me, leftOut, timeText }: HeadDeps): TextLine[] {
  const { mark, look } = statusStyle(run.status);
  const took = tookText(run.createdAt, run.stoppedAt);
  const status = statusText(toOneLine(run.status));
  const started = startedText(run, me, timeText);
  const lines = [
    ownLine(
      { text: `${mark} `, style: look },
      { text: toOneLine(nameOf(run)), style: textStyles.strong },
      " ",
      { text: status, style: look },
      ...(took === undefined ? [] : [` · ${took}`]),
    ),
    ...(started === undefined ? [] : [ownLine({ text: started, style: textStyles.quiet })]),
    ownLine({
      text:
        run.project === undefined
          ? t("Run ID {0}", toOneLine(run.runId))
          : t("Run {0}, project {1}", toOneLine(run.runId), toOneLine(run.project)),
      style: textStyles.quiet,
    }),
  ];
  const inputs = inputsText(run, longestValues);
  const outputs = outputsText(run, longestValues);
  for (const text of [inputs && t("Inputs: {0}", inputs), outputs && t("Outputs: {0}", outputs)]) {
    if (text !== undefined) lines.push(ownLine({ text, style: textStyles.quiet }));
  }
  // A failed step's own lines say more.
  const reason = reasonText(run, me);
  if (reason !== undefined && failedStep(run)?.step.status !== "failed") {
    lines.push(...reason.split("\n").map((line) => ownLine(toOneLine(line))));
  }
  if (leftOut > 0) lines.push(leftOutLine(leftOut, run.runId));
  return lines;
}

/** When and by whom a run was started, and through which agent, if known. */
function startedText(run: Run, me: string | undefined, timeText: HeadDeps["timeText"]): string | undefined {
  const started = starterText(run, me, timeText);
  if (started === undefined || run.agent === undefined) return started;
  return t("{0}, through the agent {1}", started, toOneLine(run.agent));
}

function starterText(run: Run, me: string | undefined, timeText: HeadDeps["timeText"]): string | undefined {
  const { createdAt, actor } = run;
  const starter = actorText(run);
  if (createdAt === undefined) return starter && t("Started by {0}", toOneLine(starter));
  if (starter === undefined) return t("Started {0}", timeText(createdAt));
  return actor === me
    ? t("Started {0} by you", timeText(createdAt))
    : t("Started {0} by {1}", timeText(createdAt), toOneLine(starter));
}

/** Says that lines are missing, and how to get them. */
export function leftOutLine(count: number, runId: string): TextLine {
  const command = runCommand("log", toOneLine(runId));
  const text =
    count === 1
      ? t("1 earlier line is not shown. Full log: {0}", command)
      : t("{0} earlier lines are not shown. Full log: {1}", count.toLocaleString(), command);
  return ownLine({ text, style: textStyles.ended });
}

/**
 * Why a run failed: the step, its message, and its last lines.
 * @param mayBegin whether a new run can begin at the step.
 * @param isOutputNext whether the step's output follows, which the last lines would repeat.
 */
export function failedStepLines(
  step: RunStep,
  last: readonly TextLine[],
  { mayBegin, isOutputNext }: { readonly mayBegin: boolean; readonly isOutputNext: boolean },
): TextLine[] {
  const { mark, look } = statusStyle(step.status);
  // Drops what the message repeats of the last output, which the log shows with its colours.
  const own = withoutRepeatedLines(
    (step.message ?? "").split(/\r?\n/).map(toOneLine),
    last.map(({ text }) => toOneLine(text)),
  );
  const shown = own.length > mostOfMessage ? [...own.slice(0, mostOfMessage), "…"] : own;
  const lines = [
    ownLine(
      { text: `${mark} ${t("Failed step: {0}", stepName(step, 0))}`, style: look },
      { text: ` · ${stepDetail(step)}`, style: textStyles.quiet },
    ),
    ...shown.map((text) => indented({ ...ownLine(text), links: findFileLinks(text) }, margin)),
    ...(mayBegin ? [runFromStepLine()] : []),
  ];
  if (isOutputNext || last.length === 0) return lines;
  const heading = last.length === 1 ? t("Its last line:") : t("Its last {0} lines:", last.length);
  return [
    ...lines,
    ownLine({ text: margin + heading, style: textStyles.quiet }),
    ...last.map((line) => indented(line, margin + margin)),
  ];
}

function runFromStepLine(): TextLine {
  const words = t("Run From Failed Step");
  const line = ownLine(words, { text: ` · ${t("a new run, one of today's")}`, style: textStyles.quiet });
  return indented({ ...line, links: [{ kind: "failed-step", start: 0, end: words.length }] }, margin);
}

/** The line before a step's output. The step may not be known yet. */
export function stepHeading(step: RunStep | undefined, index: number): TextLine {
  const { mark, look } = statusStyle(step?.status);
  const detail = step === undefined ? "" : stepDetail(step);
  return ownLine(
    { text: `${mark} `, style: look },
    { text: stepName(step, index), style: textStyles.strong },
    ...(detail === "" ? [] : [{ text: ` · ${detail}`, style: textStyles.quiet }]),
  );
}

export function stepName(step: RunStep | undefined, index: number): string {
  const name = toOneLine(step?.name ?? "");
  return name === "" ? t("step {0}", index + 1) : name;
}

/** A step's type, status, notes and duration, if known. */
export function stepDetail(step: RunStep): string {
  const took = tookText(step.startedAt, step.stoppedAt);
  return [step.type, statusText(step.status), ...stepNotes(step, t), ...(took === undefined ? [] : [took])]
    .map(toOneLine)
    .filter((text) => text !== "")
    .join(" · ");
}

/** A mark and a colour, so that colour alone never tells a status; plain for an unknown status. */
function statusStyle(status = ""): { readonly mark: string; readonly look: SgrStyle } {
  return statusStyles.get(status) ?? { mark: "·", look: textStyles.quiet };
}

const bad = { mark: "✗", look: textStyles.bad };
const statusStyles = new Map([
  ["running", { mark: "●", look: textStyles.busy }],
  ["cancelling", { mark: "●", look: textStyles.busy }],
  ["succeeded", { mark: "✓", look: textStyles.good }],
  ["failed", bad],
  ["timed-out", bad],
  ["lost", bad],
  ["cancelled", { mark: "−", look: textStyles.ended }],
]);
