import { t } from "@vscode/l10n";
import { failedStep } from "../../contract/failedStep.ts";
import type { LogEntry } from "../../contract/logEntry.ts";
import type { Run } from "../../contract/run.ts";
import { type WholeLine, WholeLines } from "../../contract/wholeLines.ts";
import { failedStepLines } from "./failedStepLines.ts";
import { headLines, leftOutLine } from "./headLines.ts";
import { keptLines } from "./keptLines.ts";
import { LineMaker } from "./lineMaker.ts";
import { LogSnapshot, type Part } from "./logSnapshot.ts";
import { stepDetail, stepHeading, stepName } from "./stepHeading.ts";
import { type Block, blockOf, StepSection } from "./stepSection.ts";
import { looks, ownLine, type TextLine } from "./textLine.ts";

export interface LogTextOptions {
  readonly apiKeys: ReadonlySet<string>;
  /** An instant (RFC 3339) as this person reads it. */
  readonly timeText: (instant: string) => string;
  /** How much of the log is kept, in UTF-16 units: the newest. */
  readonly most?: number;
}

const mostKept = 5_000_000;
/** How many of a failed step's last lines stand at the beginning. */
const lastLines = 12;
/** So much is given up at once, so that the document's beginning doesn't change with each line. */
const givenUpAtOnce = 1 / 5;

/**
 * What the document of a run's log says: the failing step first, then the log by steps. An entry costs what it is long,
 * however much there is already.
 */
export class LogText {
  readonly #timeText: (instant: string) => string;
  readonly #most: number;
  readonly #maker: LineMaker;
  readonly #whole = new WholeLines();
  readonly #steps = new Map<number, StepSection>();
  #run: Run;
  #me: string | undefined;
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

  /** How much of the log there is, in UTF-16 units. */
  get size(): number {
    return this.#size;
  }

  /** @param me the id of the key that this window uses, where it is known. */
  setRun(run: Run, me: string | undefined): void {
    // An event may tell a run without what its steps have come to.
    this.#run = { ...this.#run, ...run };
    this.#me = me ?? this.#me;
  }

  /** Says something at the end of the document until it is taken back: that the service is away, say. */
  setNotice(text: string | undefined): void {
    this.#notice = text;
  }

  add(entry: LogEntry): void {
    for (const line of this.#whole.add(entry)) this.#put(line);
    if (this.#size > this.#most) this.#giveUp();
  }

  /** Entries that the service left out. */
  addGap(first: number, last: number): void {
    this.#section(this.#newest()).add(
      ownLine({
        text: t("The service left out the entries {0} to {1} of this log.", first, last),
        style: looks.quiet,
      }),
    );
  }

  /** Takes what has no line end for whole, once nothing comes any more. */
  end(): void {
    for (const line of this.#whole.rest()) this.#put(line);
  }

  snapshot(): LogSnapshot {
    const blocks: Block[] = [];
    const parts: Part[] = [];
    let at = 0;
    const put = (block: Block) => {
      if (block.count === 0) return;
      blocks.push(block);
      at += block.count;
    };
    const putPart = (part: Pick<Part, "kind" | "name" | "detail">, ...of: readonly Block[]) => {
      const firstLine = at;
      for (const block of of) put(block);
      parts.push({ ...part, firstLine, lastLine: at - 1 });
      put(gapBlock);
    };
    const facts = { me: this.#me, leftOut: this.#leftOut(), timeText: this.#timeText };
    put(blockOf([...headLines(this.#run, facts), blank]));
    const failed = failedStep(this.#run);
    if (failed !== undefined) {
      const last = this.#steps.get(failed.index)?.last(lastLines) ?? [];
      const lines = failedStepLines(failed.step, last);
      putPart(
        { kind: "failed", name: t("Failed step: {0}", failed.step.name), detail: stepDetail(failed.step) },
        blockOf(lines),
      );
    }
    const kept = keptLines(this.#run);
    if (kept.length > 0) putPart({ kind: "kept", name: t("Kept files"), detail: "" }, blockOf(kept));
    const begun = this.#whole.begun();
    for (const index of this.#stepIndexes()) {
      const step = this.#run.steps?.[index];
      const section = this.#steps.get(index);
      const heading = [stepHeading(step, index)];
      if (section !== undefined && section.leftOut > 0)
        heading.push(leftOutLine(section.leftOut, this.#run.runId));
      const open = begun
        .filter(({ stepIndex }) => stepIndex === index)
        .map((line) => this.#maker.begun(line));
      putPart(
        { kind: "step", name: stepName(step, index), detail: step === undefined ? "" : stepDetail(step) },
        blockOf(heading),
        ...(section === undefined ? [] : [section.block()]),
        blockOf(open),
      );
    }
    if (this.#notice !== undefined) put(blockOf([ownLine({ text: this.#notice, style: looks.ended })]));
    return new LogSnapshot(blocks, parts);
  }

  #stepIndexes(): number[] {
    const known = this.#run.steps?.length ?? 0;
    const told = [...this.#steps.keys()].filter((index) => index >= known).sort((one, other) => one - other);
    // A step that has not begun says nothing yet.
    const begun = [...Array(known).keys()].filter(
      (index) => this.#steps.has(index) || this.#run.steps?.[index]?.startedAt !== undefined,
    );
    return [...begun, ...told];
  }

  #newest(): number {
    return Math.max(0, ...this.#steps.keys());
  }

  #put(line: WholeLine): void {
    const made: TextLine = this.#maker.whole(line);
    this.#section(line.stepIndex).add(made);
    this.#size += made.text.length + 1;
  }

  #section(index: number): StepSection {
    const found = this.#steps.get(index) ?? new StepSection();
    this.#steps.set(index, found);
    return found;
  }

  /** The oldest steps first, so that the newest is there. */
  #giveUp(): void {
    let toGive = this.#size - this.#most * (1 - givenUpAtOnce);
    for (const index of [...this.#steps.keys()].sort((one, other) => one - other)) {
      if (toGive <= 0) return;
      const given = this.#section(index).giveUp(toGive);
      toGive -= given;
      this.#size -= given;
    }
  }

  #leftOut(): number {
    return [...this.#steps.values()].reduce((sum, { leftOut }) => sum + leftOut, 0);
  }
}

const blank: TextLine = ownLine("");
const gapBlock: Block = blockOf([blank]);
