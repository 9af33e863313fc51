import { t } from "@vscode/l10n";
import { LineAssembler, type LogEntry, type LogLine } from "../../contract/log.ts";
import type { Run } from "../../contract/run.ts";
import { failedStep } from "../../contract/runStatus.ts";
import { artifactLines } from "./artifacts.ts";
import {
  failedStepLines,
  headLines,
  LineMaker,
  leftOutLine,
  ownLine,
  stepDetail,
  stepHeading,
  stepName,
  type TextLine,
  textStyles,
} from "./textLine.ts";

/** A named, foldable part of the document. Lines count from 0. */
export interface Part {
  readonly kind: "failed" | "kept" | "step";
  readonly name: string;
  /** Shown beside the name in the outline, such as the step's status. */
  readonly detail: string;
  readonly firstLine: number;
  readonly lastLine: number;
}

/** The document at one moment. */
export class LogSnapshot {
  readonly parts: readonly Part[];
  readonly bytes: Uint8Array;
  readonly #lines: readonly TextLine[];

  constructor(lines: readonly TextLine[], parts: readonly Part[]) {
    this.#lines = lines;
    this.parts = parts;
    this.bytes = Buffer.from(lines.map(({ text }) => `${text}\n`).join(""));
  }

  /** The editor counts an empty line after the last line end. */
  get lineCount(): number {
    return this.#lines.length + 1;
  }

  /** The lines from `first` to `last`, both included, with their numbers. */
  *lines(first: number, last: number): Generator<readonly [number: number, line: TextLine]> {
    for (let at = first; at <= last; at++) {
      const line = this.#lines[at];
      if (line !== undefined) yield [at, line];
    }
  }
}

export interface LogTextOptions {
  readonly apiKeys: ReadonlySet<string>;
  /** Formats an instant (RFC 3339) for the person. */
  readonly timeText: (instant: string) => string;
  /** How many UTF-16 units of the log's end are kept. */
  readonly most?: number;
}

const mostKept = 5_000_000;
/** How many of a failed step's last lines are shown at the beginning. */
const lastLines = 12;
/** The share that is dropped at once, so that not every new line changes the document's beginning. */
const givenUpAtOnce = 1 / 5;

interface Section {
  lines: TextLine[];
  /** The number of lines dropped at the beginning. */
  leftOut: number;
}

/**
 * The text of a run's log: the failed step first, then the log by steps. Adding an entry costs time in its length, a snapshot in
 * the length of all that is kept.
 */
export class LogText {
  readonly #timeText: (instant: string) => string;
  readonly #most: number;
  readonly #maker: LineMaker;
  readonly #whole = new LineAssembler();
  readonly #steps = new Map<number, Section>();
  #run: Run;
  #me: string | undefined;
  #resumeAt: number | undefined;
  #size = 0;
  #notice: string | undefined;

  constructor(run: Run, { apiKeys, timeText, most = mostKept }: LogTextOptions) {
    this.#run = run;
    this.#timeText = timeText;
    this.#most = most;
    this.#maker = new LineMaker(apiKeys);
  }

  get run(): Run {
    return this.#run;
  }

  /** The length of the kept log in UTF-16 units. */
  get size(): number {
    return this.#size;
  }

  /** @param me the id of the key that this window uses, if known. */
  setRun(run: Run, me: string | undefined): void {
    // A run from an event may lack the steps' results.
    this.#run = { ...this.#run, ...run };
    this.#me = me ?? this.#me;
  }

  /** Offers to begin a new run at the step with this index. */
  setResumeAt(index: number | undefined): void {
    this.#resumeAt = index;
  }

  /** Sets the last line of the document, such as that the service is out of reach; undefined removes it. */
  setNotice(text: string | undefined): void {
    this.#notice = text;
  }

  add(entry: LogEntry): void {
    for (const line of this.#whole.add(entry)) this.#put(line);
    if (this.#size > this.#most) this.#giveUp();
  }

  /** Marks entries that the service left out. */
  addGap(first: number, last: number): void {
    this.#section(Math.max(0, ...this.#steps.keys())).lines.push(
      ownLine({
        text: t("The service left out the entries {0} to {1} of this log.", first, last),
        style: textStyles.quiet,
      }),
    );
  }

  /** Completes lines without a line break, once the log has ended. */
  end(): void {
    for (const line of this.#whole.rest()) this.#put(line);
  }

  snapshot(): LogSnapshot {
    const blocks: (readonly TextLine[])[] = [];
    const parts: Part[] = [];
    let at = 0;
    const put = (lines: readonly TextLine[]) => {
      blocks.push(lines);
      at += lines.length;
    };
    const putPart = (
      part: Pick<Part, "kind" | "name" | "detail">,
      ...of: readonly (readonly TextLine[])[]
    ) => {
      const firstLine = at;
      for (const lines of of) put(lines);
      parts.push({ ...part, firstLine, lastLine: at - 1 });
      put([blank]);
    };
    const facts = { me: this.#me, leftOut: this.#leftOut(), timeText: this.#timeText };
    put([...headLines(this.#run, facts), blank]);
    const failed = failedStep(this.#run);
    if (failed !== undefined) {
      const written = this.#steps.get(failed.index)?.lines ?? [];
      const last = written.filter(({ stream }) => stream !== "note").slice(-lastLines);
      putPart(
        { kind: "failed", name: t("Failed step: {0}", failed.step.name), detail: stepDetail(failed.step) },
        failedStepLines(failed.step, last, {
          mayBegin: failed.index === this.#resumeAt,
          // The output of the only step follows directly.
          isOutputNext: this.#stepIndexes().length === 1,
        }),
      );
    }
    const kept = artifactLines(this.#run);
    if (kept.length > 0) putPart({ kind: "kept", name: t("Kept files"), detail: "" }, kept);
    const begun = this.#whole.begun();
    for (const index of this.#stepIndexes()) {
      const step = this.#run.steps?.[index];
      const { lines, leftOut } = this.#steps.get(index) ?? { lines: [], leftOut: 0 };
      const open = begun.filter(({ stepIndex }) => stepIndex === index);
      putPart(
        { kind: "step", name: stepName(step, index), detail: step === undefined ? "" : stepDetail(step) },
        [stepHeading(step, index), ...(leftOut > 0 ? [leftOutLine(leftOut, this.#run.runId)] : [])],
        lines,
        open.map((line) => this.#maker.begun(line)),
      );
    }
    if (this.#notice !== undefined) put([ownLine({ text: this.#notice, style: textStyles.ended })]);
    return new LogSnapshot(blocks.flat(), parts);
  }

  #stepIndexes(): number[] {
    const known = this.#run.steps?.length ?? 0;
    const told = [...this.#steps.keys()].filter((index) => index >= known).sort((one, other) => one - other);
    // Steps that have not begun are not shown.
    const begun = [...Array(known).keys()].filter(
      (index) => this.#steps.has(index) || this.#run.steps?.[index]?.startedAt !== undefined,
    );
    return [...begun, ...told];
  }

  #put(line: LogLine): void {
    const made = this.#maker.whole(line);
    this.#section(line.stepIndex).lines.push(made);
    this.#size += sizeOf(made);
  }

  #section(index: number): Section {
    const found = this.#steps.get(index) ?? { lines: [], leftOut: 0 };
    this.#steps.set(index, found);
    return found;
  }

  /** Drops lines, the oldest steps' first. */
  #giveUp(): void {
    const enough = this.#most * (1 - givenUpAtOnce);
    for (const [, section] of [...this.#steps].sort(([one], [other]) => one - other)) {
      let count = 0;
      for (const line of section.lines) {
        if (this.#size <= enough) break;
        this.#size -= sizeOf(line);
        count += 1;
      }
      section.lines = section.lines.slice(count);
      section.leftOut += count;
    }
  }

  #leftOut(): number {
    return [...this.#steps.values()].reduce((sum, { leftOut }) => sum + leftOut, 0);
  }
}

/** In UTF-16 units, including the line break. */
function sizeOf({ text }: TextLine): number {
  return text.length + 1;
}

const blank: TextLine = ownLine("");
