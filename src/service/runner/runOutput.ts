import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { Mask } from "./mask.ts";
import type { Message, OutputStream, StepOutput } from "./protocol.ts";
import type { NewArtifact, StepLog } from "./stepContext.ts";

interface RunOutputDeps {
  readonly tell: (message: Message) => void;
  readonly now: () => Date;
  readonly mask: Mask;
  /** Absolute. */
  readonly artifactsFolder: string;
}

/** What is kept of one step. */
interface StepOutputs {
  readonly log: StepLog;
  readonly saveArtifact: (artifact: NewArtifact) => Promise<void>;
  /** Tells what the step's log still holds back. */
  readonly flush: () => void;
}

const MiB = 1024 * 1024;
/** The largest artifact, and all of a run together, in bytes. */
const artifactBytes = { artifact: 8 * MiB, run: 64 * MiB } as const;
/** How long the last words of programs that have ended are waited for. They are there already, if there are any. */
const finalOutputMilliseconds = 500;

/** What is kept of a run: the logs and the artifacts of its steps, within the run's bounds. */
export class RunOutput {
  readonly #deps: RunOutputDeps;
  readonly #logUse: LogUse = { bytes: 0 };
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
      saveArtifact: async (artifact) => {
        const { content, mediaType } = artifact;
        const name = this.#deps.mask.hide(artifact.name);
        const bytes = typeof content === "string" ? Buffer.from(this.#deps.mask.hide(content)) : content;
        const problem = this.#problemOf(bytes.length);
        if (problem !== undefined) {
          log.note(`${name} isn't kept: ${problem}`);
          return;
        }
        this.#artifactBytes += bytes.length;
        kept += 1;
        const file = `${index}-${kept}`;
        try {
          await this.#write(file, bytes);
        } catch (error) {
          log.note(`${name} isn't kept: ${error instanceof Error ? error.message : String(error)}`);
          return;
        }
        const at = this.#deps.now().toISOString();
        this.#deps.tell({ kind: "artifact", index, at, name, file, mediaType, bytes: bytes.length });
      },
      flush: () => log.flush(),
    };
  }

  /** Tells all that is left. To be called when the run's programs are gone, which may have said something to the end. */
  async end(): Promise<void> {
    await Promise.race([
      Promise.all(this.#lasting),
      pause(finalOutputMilliseconds, undefined, { ref: false }),
    ]);
    for (const log of this.#logs) log.flush();
  }

  #problemOf(bytes: number): string | undefined {
    if (bytes > artifactBytes.artifact)
      return `it has ${bytes} bytes, and at most ${artifactBytes.artifact} are kept of one`;
    if (this.#artifactBytes + bytes > artifactBytes.run)
      return `a run's artifacts have at most ${artifactBytes.run} bytes`;
    return undefined;
  }

  async #write(file: string, bytes: Uint8Array): Promise<void> {
    await mkdir(this.#deps.artifactsFolder, { recursive: true, mode: 0o700 });
    await writeFile(join(this.#deps.artifactsFolder, file), bytes, { mode: 0o600 });
  }
}

const KiB = 1024;
/** How much of a log is kept, in bytes as it is stored: of one step, and of all steps of a run together. */
const logBytes = { step: 4 * KiB * KiB, run: 16 * KiB * KiB } as const;
/** Of a step that says more, the end, in characters; and where the run has said too much already. */
const tailLength = { step: 64 * KiB, run: 4 * KiB } as const;
/** What an entry takes beside its text, in bytes. */
const entryOverhead = 100;
/** Pieces that come within so many milliseconds are told together, unless they are so many characters. */
const gatherMilliseconds = 50;
const gatheredLength = 32 * KiB;
const longestNote = 8 * KiB;

/** How much the logs of a run's steps hold, in bytes as they are stored. */
interface LogUse {
  bytes: number;
}

interface LogDeps {
  readonly tell: (output: StepOutput) => void;
  readonly now: () => Date;
  readonly mask: Mask;
  /** Of the whole run. */
  readonly use: LogUse;
}

/**
 * The log of one step: told in pieces of a sensible size, in the order in which they came. The first part of a log that
 * is too long is kept, and its end, with a note of how much is left out between them: whatever a program prints, the
 * memory that this takes is bounded.
 */
export class StepLogWriter {
  readonly #index: number;
  readonly #deps: LogDeps;
  #gathered: LogPiece[] = [];
  #length = 0;
  #timer: NodeJS.Timeout | undefined;
  #bytes = 0;
  #tail: LogTail | undefined;

  constructor(index: number, deps: LogDeps) {
    this.#index = index;
    this.#deps = deps;
  }

  write(stream: OutputStream, masked: string): void {
    for (let from = 0; from < masked.length; ) {
      const to = startOfLetter(masked, from + gatheredLength);
      this.#add(stream, from === 0 && to >= masked.length ? masked : masked.slice(from, to));
      from = to;
    }
  }

  note(line: string): void {
    const text = this.#deps.mask.hide(line);
    this.#add("note", `${text.length > longestNote ? `${text.slice(0, longestNote)}…` : text}\n`);
  }

  /** Tells what is still to be told. More may be written later, by a program that the step left running. */
  flush(): void {
    this.#tellGathered();
    if (this.#tail === undefined) return;
    const { dropped, pieces } = this.#tail.take(this.#tailLength());
    if (dropped > 0) {
      const which = this.#isRunFull()
        ? "the run's log is full"
        : "a step's log keeps its beginning and its end";
      this.#tell({
        stream: "note",
        at: this.#deps.now(),
        text: `… ${dropped} bytes are left out here: ${which} …\n`,
      });
    }
    for (const piece of pieces) this.#tell(piece);
  }

  #add(stream: OutputStream, text: string): void {
    const piece: LogPiece = { stream, at: this.#deps.now(), text };
    if (this.#tail !== undefined) {
      this.#tail.add(piece, this.#tailLength());
      return;
    }
    const last = this.#gathered.at(-1);
    // Each note stands for itself, with its own time.
    if (last?.stream === stream && stream !== "note") last.text += text;
    else this.#gathered.push(piece);
    this.#length += text.length;
    if (this.#length >= gatheredLength) this.#tellGathered();
    else this.#timer ??= setTimeout(() => this.#tellGathered(), gatherMilliseconds);
  }

  #tellGathered(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const pieces = this.#gathered;
    this.#gathered = [];
    this.#length = 0;
    for (const piece of pieces) {
      if (this.#tail === undefined && this.#isFullWith(piece)) this.#tail = new LogTail();
      if (this.#tail === undefined) this.#tell(piece);
      else this.#tail.add(piece, this.#tailLength());
    }
  }

  #tell({ stream, at, text }: LogPiece): void {
    if (text === "") return;
    const size = sizeOf(text);
    this.#bytes += size;
    this.#deps.use.bytes += size;
    this.#deps.tell({ kind: "output", index: this.#index, at: at.toISOString(), stream, text });
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

/** As it is stored, where a control character takes six bytes. */
function sizeOf(text: string): number {
  return Buffer.byteLength(JSON.stringify(text)) + entryOverhead;
}

/** A piece of a step's log that has not been told yet. */
interface LogPiece {
  readonly stream: OutputStream;
  /** When its first letter came. */
  readonly at: Date;
  text: string;
}

/** Small pieces are put together up to this, in characters, so that what is kept is never a list of letters. */
const joinedLength = 4096;

/** The end of a log that has become too long: what is dropped before it is only counted. */
class LogTail {
  #pieces: LogPiece[] = [];
  #length = 0;
  #dropped = 0;

  /** @param most how much is kept, in characters. */
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
  take(most: number): { readonly dropped: number; readonly pieces: readonly LogPiece[] } {
    const [first] = this.#pieces;
    if (first !== undefined && this.#length > most) {
      const cut = startOfLetter(first.text, this.#length - most);
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

/** The position, or the one behind it where it would cut a letter in two. */
function startOfLetter(text: string, position: number): number {
  const isInside =
    /^[\udc00-\udfff]$/.test(text[position] ?? "") && /^[\ud800-\udbff]$/.test(text[position - 1] ?? "");
  return isInside ? position + 1 : position;
}
