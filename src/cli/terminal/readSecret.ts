import { once } from "node:events";
import { createInterface } from "node:readline";
import { type Readable, Writable } from "node:stream";
import { PipelineError } from "../../contract/errors.ts";
import { anySignal } from "../../machine/anySignal.ts";
import { Interrupted } from "./interrupts.ts";
import type { Stream } from "./terminal.ts";

/** Standard input. */
export type Input = Readable & { readonly isTTY?: boolean };

/** Longer than the key of any service. */
const longestSecret = 8 * 1024;

/**
 * Reads a secret: on a terminal with a prompt and without echo, otherwise the first line of standard input. Trims spaces.
 *
 * @throws PipelineError `usage` if it is empty or too long; Interrupted for Ctrl-C; the signal's reason.
 */
export async function readSecret(
  input: Input,
  prompt: Stream,
  question: string,
  signal: AbortSignal,
): Promise<string> {
  const text = input.isTTY
    ? await readTyped(input, prompt, question, signal)
    : await readPiped(input, signal);
  const secret = text.trim();
  if (secret === "") {
    throw new PipelineError("usage", "No API key was entered.", {
      next: "Type it when asked, or send it on standard input.",
    });
  }
  return secret;
}

/** Asks for a line, with echo. @returns undefined if the input ends. @throws the signal's reason. */
export async function readLine(
  input: Input,
  prompt: Stream,
  question: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  prompt.write(question);
  const line = await nextChunk(input, signal);
  return line?.trim();
}

/** What `readline` echoes goes nowhere. It edits the line, and its raw mode has ended before this returns or throws. */
async function readTyped(
  input: Input,
  prompt: Stream,
  question: string,
  signal: AbortSignal,
): Promise<string> {
  const echo = new Writable({ write: (_chunk, _encoding, done) => done() });
  const keys = createInterface({ input, output: echo, terminal: true, historySize: 0 });
  const over = new AbortController();
  const next = (event: string) => once(keys, event, { signal: anySignal([signal, over.signal]) });
  try {
    prompt.write(question);
    const [typed = ""] = await Promise.race([
      next("line"),
      next("close"),
      next("SIGINT").then(() => {
        throw new Interrupted("interrupted");
      }),
    ]);
    if (typed.length > longestSecret) throw tooLong();
    return typed;
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    over.abort();
    keys.close();
    prompt.write("\n");
  }
}

async function readPiped(input: Input, signal: AbortSignal): Promise<string> {
  let text = "";
  try {
    for (;;) {
      const chunk = await nextChunk(input, signal);
      if (chunk === undefined) return withoutByteOrderMark(text);
      text += chunk;
      const end = text.search(/[\r\n]/);
      if ((end === -1 ? text.length : end) > longestSecret) throw tooLong();
      if (end !== -1) return withoutByteOrderMark(text.slice(0, end));
    }
  } finally {
    // The writer gets EPIPE.
    input.destroy();
  }
}

/** Some programs start their output with a byte order mark. */
function withoutByteOrderMark(text: string): string {
  return text.replace(/^\ufeff/, "");
}

/** Reads the next chunk and pauses the input. @returns undefined at its end. */
function nextChunk(input: Input, signal: AbortSignal): Promise<string | undefined> {
  signal.throwIfAborted();
  if (input.readableEnded || input.destroyed) return Promise.resolve(undefined);
  input.setEncoding("utf8");
  return new Promise((resolve, reject) => {
    const settle = (act: () => void): void => {
      input.off("data", onData).off("end", onEnd).off("error", onEnd);
      signal.removeEventListener("abort", onAbort);
      input.pause();
      act();
    };
    const onData = (chunk: unknown): void => settle(() => resolve(String(chunk)));
    const onEnd = (): void => settle(() => resolve(undefined));
    const onAbort = (): void => settle(() => reject(signal.reason));
    signal.addEventListener("abort", onAbort, { once: true });
    input.on("data", onData).once("end", onEnd).once("error", onEnd);
    input.resume();
  });
}

function tooLong(): PipelineError {
  return new PipelineError("usage", `That is longer than ${longestSecret} characters, which no API key is.`);
}
