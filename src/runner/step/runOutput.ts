import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { largestArtifact } from "../../contract/limits.ts";
import type { Message, OutputStream, StepOutput } from "../launch/messages.ts";
import type { Mask } from "../mask/mask.ts";
import type { NewArtifact, StepLog } from "./stepContext.ts";

interface RunOutputDeps {
  readonly send: (messages: readonly Message[]) => void;
  readonly now: () => Date;
  readonly mask: Mask;
  /** Absolute. */
  readonly artifactsFolder: string;
}

export interface StepOutputs {
  readonly log: StepLog;
  readonly saveArtifact: (artifact: NewArtifact) => void;
  /** Sends what the step's log still buffers. */
  readonly flush: () => void;
}

const MiB = 1024 * 1024;
/** The most bytes of a run's artifacts together. */
const mostArtifactBytes = 64 * MiB;
/** How long to wait for the rest of the output of programs that have ended. */
const finalOutputMilliseconds = 500;

/** The logs and artifacts of a run's steps, within the run's limits. */
export class RunOutput {
  readonly #deps: RunOutputDeps;
  readonly #logUse = { bytes: 0 };
  readonly #logs: StepLogWriter[] = [];
  readonly #lasting: Promise<void>[] = [];
  #artifactBytes = 0;

  constructor(deps: RunOutputDeps) {
    this.#deps = deps;
  }

  /** @param index counts the pipeline's steps from 0. */
  step(index: number): StepOutputs {
    const log = new StepLogWriter(index, { ...this.#deps, use: this.#logUse });
    this.#logs.push(log);
    let kept = 0;
    return {
      log: {
        write: (stream, masked) => log.write(stream, masked),
        note: (line) => log.note(line),
        waitFor: (until) => void this.#lasting.push(until),
      },
      saveArtifact: (artifact) => {
        const { content, mediaType } = artifact;
        const name = this.#deps.mask.hide(artifact.name);
        const bytes = typeof content === "string" ? Buffer.from(this.#deps.mask.hide(content)) : content;
        const isFull = this.#artifactBytes + bytes.length > mostArtifactBytes;
        const problem =
          problemOfSize(bytes.length) ??
          (isFull ? `a run's artifacts have at most ${mostArtifactBytes} bytes` : undefined);
        if (problem !== undefined) {
          log.note(`${name} isn't kept: ${problem}`);
          return;
        }
        this.#artifactBytes += bytes.length;
        kept += 1;
        const file = `${index}-${kept}`;
        try {
          this.#write(file, bytes);
        } catch (error) {
          log.note(`${name} isn't kept: ${error instanceof Error ? error.message : String(error)}`);
          return;
        }
        const at = this.#deps.now().toISOString();
        this.#deps.send([{ kind: "artifact", index, at, name, file, mediaType, bytes: bytes.length }]);
      },
      flush: () => log.flush(),
    };
  }

  /** Sends all that is buffered. Called when the run's programs are gone, since they may write until they end. */
  async end(): Promise<void> {
    await Promise.race([
      Promise.all(this.#lasting),
      pause(finalOutputMilliseconds, undefined, { ref: false }),
    ]);
    for (const log of this.#logs) log.flush();
  }

  /** Synchronous: in threads it takes three times as long, and nothing else of the run goes on meanwhile. */
  #write(file: string, bytes: Uint8Array): void {
    mkdirSync(this.#deps.artifactsFolder, { recursive: true, mode: 0o700 });
    const path = join(this.#deps.artifactsFolder, file);
    try {
      writeFileSync(path, bytes, { mode: 0o600 });
    } catch (error) {
      // A partial file would keep a full disk full, so that the run's end couldn't be written.
      rmSync(path, { force: true });
      throw error;
    }
  }
}

/** Why an artifact of so many bytes can't be saved. */
export function problemOfSize(bytes: number): string | undefined {
  return bytes > largestArtifact
    ? `it has ${bytes} bytes, and at most ${largestArtifact} are kept of one`
    : undefined;
}

const KiB = 1024;
/** The limits of one step's log and of a run's logs together, in bytes as stored. */
const logBytes = { step: 4 * KiB * KiB, run: 16 * KiB * KiB } as const;
/** How much of the end of a longer log is sent, in characters; less once the run's limit is reached. */
const tailLength = { step: 64 * KiB, run: 4 * KiB } as const;
/** The size of an entry without its text, in bytes. */
const entryOverhead = 100;
/** Output is sent at once, but only once in so many milliseconds, or after so many characters. */
const bufferMilliseconds = 50;
const bufferLength = 32 * KiB;
const longestNote = 8 * KiB;

interface LogDeps extends Pick<RunOutputDeps, "now" | "mask"> {
  readonly send: (outputs: readonly StepOutput[]) => void;
  /** The size of the run's logs so far, in bytes as stored. */
  readonly use: { bytes: number };
}

/**
 * The log of one step, sent in batches and in order. Of a log that is too long the beginning and the end are sent, with
 * a note of how much is left out between them, so that memory stays bounded.
 */
export class StepLogWriter {
  readonly #index: number;
  readonly #deps: LogDeps;
  #buffer: LogPiece[] = [];
  #length = 0;
  #timer: NodeJS.Timeout | undefined;
  #sentAt = Number.NEGATIVE_INFINITY;
  #bytes = 0;
  #tail: LogTail | undefined;

  constructor(index: number, deps: LogDeps) {
    this.#index = index;
    this.#deps = deps;
  }

  write(stream: OutputStream, masked: string): void {
    for (let from = 0; from < masked.length; ) {
      const to = startOfCharacter(masked, from + bufferLength);
      this.#add(stream, from === 0 && to >= masked.length ? masked : masked.slice(from, to));
      from = to;
    }
  }

  note(line: string): void {
    const text = this.#deps.mask.hide(line);
    this.#add("note", `${text.length > longestNote ? `${text.slice(0, longestNote)}…` : text}\n`);
  }

  /** Sends what is buffered. A program that the step left running may write more later. */
  flush(): void {
    this.#sendGathered();
    if (this.#tail === undefined) return;
    const { dropped, pieces } = this.#tail.take(this.#tailLength());
    if (dropped > 0) {
      const which = this.#isRunFull()
        ? "the run's log is full"
        : "a step's log keeps its beginning and its end";
      const text = `… ${dropped} bytes are left out here: ${which} …\n`;
      pieces.unshift({ stream: "note", at: this.#deps.now(), text });
    }
    this.#deps.send(pieces.flatMap((piece) => this.#outputOf(piece)));
  }

  #add(stream: OutputStream, text: string): void {
    const piece: LogPiece = { stream, at: this.#deps.now(), text };
    if (this.#tail !== undefined) {
      this.#tail.add(piece, this.#tailLength());
      return;
    }
    const last = this.#buffer.at(-1);
    // Each note is an entry with its own time.
    if (last?.stream === stream && stream !== "note") last.text += text;
    else this.#buffer.push(piece);
    this.#length += text.length;
    // A note is usually followed by output, and is sent with that.
    const isDue = stream !== "note" && performance.now() - this.#sentAt >= bufferMilliseconds;
    if (isDue || this.#length >= bufferLength) this.#sendGathered();
    else this.#timer ??= setTimeout(() => this.#sendGathered(), bufferMilliseconds);
  }

  #sendGathered(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#sentAt = performance.now();
    const pieces = this.#buffer;
    this.#buffer = [];
    this.#length = 0;
    const outputs = pieces.flatMap((piece) => {
      if (this.#tail === undefined && this.#isFullWith(piece)) this.#tail = new LogTail();
      if (this.#tail === undefined) return this.#outputOf(piece);
      this.#tail.add(piece, this.#tailLength());
      return [];
    });
    this.#deps.send(outputs);
  }

  /** Counts the piece as sent. @returns nothing for an empty one. */
  #outputOf({ stream, at, text }: LogPiece): readonly StepOutput[] {
    if (text === "") return [];
    const size = sizeOf(text);
    this.#bytes += size;
    this.#deps.use.bytes += size;
    return [{ kind: "output", index: this.#index, at: at.toISOString(), stream, text }];
  }

  #isFullWith({ text }: LogPiece): boolean {
    const size = sizeOf(text);
    return this.#bytes + size > logBytes.step || this.#deps.use.bytes + size > logBytes.run;
  }

  #isRunFull(): boolean {
    return this.#deps.use.bytes >= logBytes.run;
  }

  #tailLength(): number {
    return this.#isRunFull() ? tailLength.run : tailLength.step;
  }
}

/** The size as stored: JSON escapes a control character with six bytes. */
function sizeOf(text: string): number {
  return Buffer.byteLength(JSON.stringify(text)) + entryOverhead;
}

/** A piece of a step's log that has not been sent yet. */
interface LogPiece {
  readonly stream: OutputStream;
  /** When its first character was written. */
  readonly at: Date;
  text: string;
}

/** Small pieces are joined up to this many characters, which bounds the number of pieces. */
const joinedLength = 4096;

/** The end of a log that is too long. What is dropped before it is only counted. */
class LogTail {
  #pieces: LogPiece[] = [];
  #length = 0;
  #dropped = 0;

  /** @param most the limit in characters. */
  add(piece: LogPiece, most: number): void {
    const last = this.#pieces.at(-1);
    if (last?.stream === piece.stream && last.text.length + piece.text.length <= joinedLength) {
      last.text += piece.text;
    } else this.#pieces.push({ ...piece });
    this.#length += piece.text.length;
    for (let first = this.#pieces[0]; first !== undefined; first = this.#pieces[0]) {
      const tooMuch = this.#length - most;
      if (tooMuch < first.text.length) break;
      this.#pieces.shift();
      this.#drop(first.text);
    }
  }

  /** Empties it. `dropped` is in bytes. */
  take(most: number): { readonly dropped: number; readonly pieces: LogPiece[] } {
    const [first] = this.#pieces;
    if (first !== undefined && this.#length > most) {
      const cut = startOfCharacter(first.text, this.#length - most);
      this.#drop(first.text.slice(0, cut));
      first.text = first.text.slice(cut);
    }
    const taken = { dropped: this.#dropped, pieces: this.#pieces };
    this.#pieces = [];
    this.#length = 0;
    this.#dropped = 0;
    return taken;
  }

  #drop(text: string): void {
    this.#length -= text.length;
    this.#dropped += Buffer.byteLength(text);
  }
}

/** The position, or the next one where it would split a surrogate pair. */
function startOfCharacter(text: string, position: number): number {
  const isInside =
    /^[\udc00-\udfff]$/.test(text[position] ?? "") && /^[\ud800-\udbff]$/.test(text[position - 1] ?? "");
  return isInside ? position + 1 : position;
}
