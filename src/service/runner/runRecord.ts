import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { Mask } from "./mask.ts";
import type { Message } from "./protocol.ts";
import { type LogUse, StepLogWriter } from "./stepLogWriter.ts";
import type { NewArtifact, StepLog } from "./stepOutcome.ts";

interface RecordDeps {
  readonly tell: (message: Message) => void;
  readonly now: () => Date;
  readonly mask: Mask;
  /** Absolute. */
  readonly artifactsFolder: string;
}

/** What is kept of one step. */
interface StepRecord {
  readonly log: StepLog;
  readonly keep: (artifact: NewArtifact) => Promise<void>;
  /** Tells what the step's log still holds back. */
  readonly flush: () => void;
}

const MiB = 1024 * 1024;
/** The largest artifact, and all of a run together, in bytes. */
const most = { artifact: 8 * MiB, run: 64 * MiB } as const;
/** How long the last words of programs that have ended are waited for. They are there already, if there are any. */
const lastWordsMilliseconds = 500;

/** What is kept of a run: the logs and the artifacts of its steps, within the run's bounds. */
export class RunRecord {
  readonly #deps: RecordDeps;
  readonly #logUse: LogUse = { bytes: 0 };
  readonly #logs: StepLogWriter[] = [];
  readonly #lasting: Promise<void>[] = [];
  #artifactBytes = 0;

  constructor(deps: RecordDeps) {
    this.#deps = deps;
  }

  /** @param index counts the pipeline's steps from 0. */
  step(index: number): StepRecord {
    const log = new StepLogWriter(index, { ...this.#deps, use: this.#logUse });
    this.#logs.push(log);
    let kept = 0;
    return {
      log: {
        write: (stream, masked) => log.write(stream, masked),
        note: (line) => log.note(line),
        lasts: (until) => void this.#lasting.push(until),
      },
      keep: async (artifact) => {
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
    await Promise.race([Promise.all(this.#lasting), pause(lastWordsMilliseconds, undefined, { ref: false })]);
    for (const log of this.#logs) log.flush();
  }

  #problemOf(bytes: number): string | undefined {
    if (bytes > most.artifact) return `it has ${bytes} bytes, and at most ${most.artifact} are kept of one`;
    if (this.#artifactBytes + bytes > most.run) return `a run's artifacts have at most ${most.run} bytes`;
    return undefined;
  }

  async #write(file: string, bytes: Uint8Array): Promise<void> {
    await mkdir(this.#deps.artifactsFolder, { recursive: true, mode: 0o700 });
    await writeFile(join(this.#deps.artifactsFolder, file), bytes, { mode: 0o600 });
  }
}
