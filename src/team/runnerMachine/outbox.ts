import { growingPauses } from "../../client/service/retry.ts";
import { type ErrorType, PipelineError } from "../../contract/errors.ts";
import type { RunnerMessage } from "../../contract/runners.ts";
import type { Clock } from "../../machine/clock.ts";
import type { Log } from "../../machine/log.ts";
import { retryPauses } from "./runnerApi.ts";

type ArtifactMessage = Extract<RunnerMessage, { kind: "artifact" }>;

type Content = Uint8Array<ArrayBuffer>;

interface OutboxDeps {
  /** @param first the number of the first message. */
  readonly send: (first: number, messages: readonly RunnerMessage[], signal: AbortSignal) => Promise<void>;
  readonly read: (artifact: ArtifactMessage) => Promise<Content>;
  readonly upload: (artifact: ArtifactMessage, content: Content, signal: AbortSignal) => Promise<void>;
  /** Whether another attempt is futile, after one that has failed for now. */
  readonly isFutile: () => boolean;
  readonly clock: Clock;
  readonly log: Log;
}

/** Output is sent at once, but only once in so many milliseconds, or once there are so many characters of it. */
const batchMilliseconds = 100;
const batchLength = 64 * 1024;
/** What an output has besides its text, in characters. */
const outputOverhead = 100;

/** The errors after which no attempt can succeed: the run is not this runner's any more, or its key isn't valid. */
const lasting: ReadonlySet<ErrorType> = new Set([
  "conflict",
  "not-found",
  "unauthorized",
  "forbidden",
  "invalid-request",
  "payload-too-large",
]);

interface Waiting {
  readonly message: RunnerMessage;
  readonly length: number;
}

/**
 * Sends a run's messages in order, retrying until the service has taken or refused them. The runner's process limits a run's
 * log, and with it what waits here while the service is away.
 */
export class Outbox {
  /** Whether the service has all messages. Settles after the last one, `ended` or `returned`, or once the service refuses them. */
  readonly delivered: Promise<boolean>;
  readonly #deps: OutboxDeps;
  readonly #closing = new AbortController();
  readonly #waiting: Waiting[] = [];
  /** The length of all messages that wait. */
  #length = 0;
  #wake = Promise.withResolvers<void>();
  #urgent = Promise.withResolvers<void>();

  constructor(deps: OutboxDeps) {
    this.#deps = deps;
    this.delivered = this.#sendAll().catch((error: unknown) => {
      if (!this.#closing.signal.aborted)
        deps.log("warn", "the service takes nothing more of a run", { error });
      this.close();
      return false;
    });
  }

  add(message: RunnerMessage): void {
    if (this.#closing.signal.aborted) return;
    const isOutput = message.kind === "output";
    // A log can be long, so its text isn't escaped just to be measured.
    const length = isOutput ? message.text.length + outputOverhead : JSON.stringify(message).length;
    this.#waiting.push({ message, length });
    this.#length += length;
    this.#wake.resolve();
    // Steps and the end don't wait for a batch of output: the next run waits for this one's slot.
    if (!isOutput || this.#length >= batchLength) this.#urgent.resolve();
  }

  /** Drops the messages that wait, and sends nothing more. */
  close(): void {
    this.#closing.abort();
    this.#waiting.length = 0;
    this.#wake.resolve();
  }

  /** @throws the error by which the service refuses them for good. */
  async #sendAll(): Promise<boolean> {
    const { clock, send } = this.#deps;
    const { signal } = this.#closing;
    let first = 1;
    let sentAt = Number.NEGATIVE_INFINITY;
    while (!signal.aborted) {
      await this.#wake.promise;
      const early = sentAt + batchMilliseconds - clock.monotonic();
      if (early > 0) await Promise.race([clock.sleep(early, signal), this.#urgent.promise]);
      sentAt = clock.monotonic();
      const batch = this.#nextBatch();
      if (batch.length === 0) continue;
      for (const [index, message] of batch.entries()) {
        if (message.kind === "artifact") batch[index] = await this.#uploaded(message);
      }
      await this.#retried(() => send(first, batch, signal));
      first += batch.length;
      if (batch.some(({ kind }) => kind === "ended" || kind === "returned")) return true;
    }
    return false;
  }

  /** @returns the message of an artifact that the service has; a note in the log of one that it can't have. */
  async #uploaded(artifact: ArtifactMessage): Promise<RunnerMessage> {
    const { read, upload, log } = this.#deps;
    let content: Content;
    try {
      content = await read(artifact);
    } catch (error) {
      log("warn", "an artifact can't be read", { file: artifact.file, error });
      return lostArtifact(artifact, "its file can't be read");
    }
    try {
      await this.#retried(() => upload(artifact, content, this.#closing.signal));
      return artifact;
    } catch (error) {
      if (!isAbout(error, "payload-too-large", "invalid-request")) throw error;
      return lostArtifact(artifact, "the service didn't take it");
    }
  }

  #nextBatch(): RunnerMessage[] {
    let length = 0;
    let count = 0;
    for (const each of this.#waiting) {
      if (count > 0 && length + each.length > batchLength) break;
      length += each.length;
      count += 1;
    }
    const batch = this.#waiting.splice(0, count);
    this.#length -= length;
    if (this.#length < batchLength && this.#waiting.every(({ message }) => message.kind === "output"))
      this.#urgent = Promise.withResolvers();
    if (this.#waiting.length === 0 && !this.#closing.signal.aborted) this.#wake = Promise.withResolvers();
    return batch.map(({ message }) => message);
  }

  async #retried(act: () => Promise<void>): Promise<void> {
    const { clock, isFutile } = this.#deps;
    const pauses = growingPauses(Math.random, retryPauses);
    for (;;) {
      try {
        return await act();
      } catch (error) {
        if (this.#closing.signal.aborted || isAbout(error, ...lasting) || isFutile()) throw error;
        await clock.sleep(pauses.next().value, this.#closing.signal);
      }
    }
  }
}

function isAbout(error: unknown, ...types: readonly ErrorType[]): boolean {
  return error instanceof PipelineError && types.includes(error.type);
}

function lostArtifact({ index, at, name }: ArtifactMessage, why: string): RunnerMessage {
  return { kind: "output", index, at, stream: "note", text: `${name} is lost: ${why}\n` };
}
