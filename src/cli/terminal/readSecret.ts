import { createInterface, type ReadLineOptions } from "node:readline";
import { addAbortSignal, type Readable, Writable } from "node:stream";
import { PipelineError } from "../../contract/errors.ts";
import { Interrupted } from "./interrupts.ts";
import type { Stream } from "./terminal.ts";

/** Standard input. */
type Input = Readable & { readonly isTTY?: boolean };

/** A terminal, or other streams, for asking a person. */
export interface Asking {
  readonly input: Input;
  readonly prompt: Stream;
}

/** Longer than the key of any service. */
const longestSecret = 8 * 1024;

/**
 * Reads a secret: on a terminal with a prompt and without echo, otherwise the first line of standard input. Trims spaces.
 *
 * @throws PipelineError `usage` if it is empty or too long; Interrupted for Ctrl-C; the signal's reason.
 */
export async function readSecret(asking: Asking, question: string, signal: AbortSignal): Promise<string> {
  const { input } = asking;
  const text = input.isTTY ? await readTyped(asking, question, signal) : await readPiped(input, signal);
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
  { input, prompt }: Asking,
  question: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const ask = () => prompt.write(question);
  return (await nextLine({ input, terminal: false }, ask, signal))?.trim();
}

/** Discards what `readline` echoes. It edits the line, and its raw mode has ended before this returns or throws. */
async function readTyped({ input, prompt }: Asking, question: string, signal: AbortSignal): Promise<string> {
  const output = new Writable({ write: (_chunk, _encoding, done) => done() });
  const ask = () => prompt.write(question);
  try {
    const typed = (await nextLine({ input, output, terminal: true, historySize: 0 }, ask, signal)) ?? "";
    if (typed.length > longestSecret) throw tooLong();
    return typed;
  } finally {
    prompt.write("\n");
  }
}

/** @param ask writes the question; called once the input has a listener, so that nothing typed early is lost. */
async function nextLine(
  options: ReadLineOptions & { readonly input: Input },
  ask: () => unknown,
  signal: AbortSignal,
): Promise<string | undefined> {
  signal.throwIfAborted();
  if (options.input.readableEnded || options.input.destroyed) return undefined;
  // An abort closes the interface.
  const keys = createInterface({ ...options, signal });
  const next = Promise.withResolvers<string | undefined>();
  const isOver = () => next.resolve(undefined);
  // Input that can't be read counts as ended.
  keys.once("line", next.resolve).once("close", isOver).once("error", isOver);
  keys.once("SIGINT", () => next.reject(new Interrupted("interrupted")));
  try {
    ask();
    const typed = await next.promise;
    signal.throwIfAborted();
    return typed;
  } finally {
    keys.close();
  }
}

/** Reads the first line, then destroys the input: the writer gets EPIPE. */
async function readPiped(input: Input, signal: AbortSignal): Promise<string> {
  let text = "";
  try {
    for await (const chunk of addAbortSignal(signal, input.setEncoding("utf8"))) {
      text += chunk;
      const end = text.search(/[\r\n]/);
      if (end !== -1) text = text.slice(0, end);
      if (text.length > longestSecret) throw tooLong();
      if (end !== -1) break;
    }
  } catch (error) {
    signal.throwIfAborted();
    // Ignored: input that can't be read counts as ended.
    if (error instanceof PipelineError) throw error;
  }
  // Some programs start their output with a byte order mark.
  return text.replace(/^\ufeff/, "");
}

function tooLong(): PipelineError {
  return new PipelineError("usage", `That is longer than ${longestSecret} characters, which no API key is.`);
}
