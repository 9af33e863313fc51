import { Session } from "node:inspector/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { type Block, KnownBlocks } from "./knownBlocks.ts";

/** What ran since the last look: each block of the covered code by name, with how often it ran. */
export interface Reached {
  readonly blocks: ReadonlyMap<string, number>;
  /** How often they ran, all together. */
  readonly steps: number;
}

/**
 * What of some files runs, by the blocks that V8 counts: no code is changed for it. It counts what is loaded after it was
 * begun, in the thread that began it.
 */
export class Coverage implements AsyncDisposable {
  readonly #session: Session;
  readonly #prefixes: readonly string[];
  readonly #known = new KnownBlocks();

  private constructor(session: Session, prefixes: readonly string[]) {
    this.#session = session;
    this.#prefixes = prefixes;
  }

  static async begin(): Promise<Coverage> {
    const session = new Session();
    session.connect();
    await session.post("Profiler.enable");
    await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
    return new Coverage(session, []);
  }

  /** The same, of some files and folders under `root` only. */
  of(root: string, covers: readonly string[]): Coverage {
    return new Coverage(
      this.#session,
      covers.map((path) => pathToFileURL(join(root, path)).href),
    );
  }

  /** What ran since the last call. */
  async take(): Promise<Reached> {
    const blocks = new Map<string, number>();
    let steps = 0;
    const { result } = await this.#session.post("Profiler.takePreciseCoverage");
    for (const { url, functions } of result) {
      if (!this.#prefixes.some((prefix) => url.startsWith(prefix))) continue;
      for (const { ranges } of functions) {
        const [whole, ...inside] = ranges.map(asBlock);
        if (whole === undefined || whole.count === 0) continue;
        for (const { start, end, count } of this.#known.counted(url, whole, inside)) {
          steps += count;
          blocks.set(`${url}:${start}-${end}`, count);
        }
      }
    }
    return { blocks, steps };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#session.post("Profiler.stopPreciseCoverage");
    this.#session.disconnect();
  }
}

function asBlock({
  startOffset,
  endOffset,
  count,
}: {
  startOffset: number;
  endOffset: number;
  count: number;
}): Block {
  return { start: startOffset, end: endOffset, count };
}
