import { PipelineError } from "../../contract/errors.ts";
import { Interrupted } from "./interrupts.ts";
import type { Stream } from "./terminal.ts";

/** Standard input, as far as a command reads it. */
export type Input = NodeJS.ReadStream;

/** Longer than the key of any service. */
const longestSecret = 8 * 1024;

/**
 * Reads a secret: on a terminal after a prompt and without showing it, otherwise the first line of standard input.
 * Spaces around it are dropped.
 *
 * @throws PipelineError `usage` when there is none or it is too long; Interrupted for Ctrl-C; the signal's reason.
 */
export async function readSecret(
  input: Input,
  prompt: Stream,
  question: string,
  signal: AbortSignal,
): Promise<string> {
  const text = input.isTTY ? await typed(input, prompt, question, signal) : await piped(input, signal);
  const secret = text.trim();
  if (secret === "") {
    throw new PipelineError("usage", "No API key was entered.", {
      next: "Type it when asked, or send it on standard input.",
    });
  }
  return secret;
}

/** Asks for a line that may be seen. @returns undefined when the input ends instead. @throws the signal's reason. */
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

/** In raw mode nothing is shown, and Ctrl-C is a character. The terminal is given back however this ends. */
async function typed(input: Input, prompt: Stream, question: string, signal: AbortSignal): Promise<string> {
  const line = new SecretLine(longestSecret);
  input.setRawMode(true);
  try {
    prompt.write(question);
    for (;;) {
      const chunk = await nextChunk(input, signal);
      if (chunk === undefined) return "";
      const told = line.feed(chunk);
      switch (told.kind) {
        case "typing":
          continue;
        case "entered":
          return told.text;
        case "interrupted":
          throw new Interrupted("interrupted");
        case "too-long":
          throw tooLong();
        default:
          told satisfies never;
      }
    }
  } finally {
    input.setRawMode(false);
    prompt.write("\n");
  }
}

async function piped(input: Input, signal: AbortSignal): Promise<string> {
  let text = "";
  try {
    for (;;) {
      const chunk = await nextChunk(input, signal);
      if (chunk === undefined) return withoutMark(text);
      text += chunk;
      const end = text.search(/[\r\n]/);
      if ((end === -1 ? text.length : end) > longestSecret) throw tooLong();
      if (end !== -1) return withoutMark(text.slice(0, end));
    }
  } finally {
    // Whoever goes on writing is told that nobody reads.
    input.destroy();
  }
}

/** Some programs put a byte order mark before what they write. */
function withoutMark(text: string): string {
  return text.replace(/^\ufeff/, "");
}

/** The next text that comes; the input rests afterwards. @returns undefined at its end. */
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

/** What has come of a line that is typed without being shown. */
export type Typed =
  | { readonly kind: "typing" }
  | { readonly kind: "entered"; readonly text: string }
  /** Ctrl-C. */
  | { readonly kind: "interrupted" }
  /** More than any key has. */
  | { readonly kind: "too-long" };

/**
 * A line that a terminal in raw mode sends key by key. Enter and Ctrl-D end it; backspace, Ctrl-U and Ctrl-W correct it;
 * the marks around a paste, cursor keys and other controls count for nothing.
 */
export class SecretLine {
  readonly #longest: number;
  #text = "";
  /** What has come after the ESC of a sequence whose end has not come yet. */
  #escape: string | undefined;

  constructor(longest: number) {
    this.#longest = longest;
  }

  /** @param chunk what the terminal has sent; what follows the line's end in it is dropped. */
  feed(chunk: string): Typed {
    for (const character of chunk) {
      if (this.#isInEscape(character)) continue;
      switch (character) {
        case "\r":
        case "\n":
        case "\u0004":
          return { kind: "entered", text: this.#text };
        case "\u0003":
          return { kind: "interrupted" };
        case "\u007f":
        case "\b":
          this.#text = [...this.#text].slice(0, -1).join("");
          break;
        case "\u0015":
        case "\u0017":
          this.#text = "";
          break;
        default:
          if (character >= " ") this.#text += character;
          if (this.#text.length > this.#longest) return { kind: "too-long" };
      }
    }
    return { kind: "typing" };
  }

  /** Whether a character belongs to an escape sequence: `ESC [ … letter`, `ESC O letter`, or `ESC` and one more. */
  #isInEscape(character: string): boolean {
    if (character === "\u001b") {
      this.#escape = "";
      return true;
    }
    if (this.#escape === undefined) return false;
    // Enter and Ctrl-C mean what they say, also after a lone Escape.
    if (character < " ") {
      this.#escape = undefined;
      return false;
    }
    const sequence: string = this.#escape + character;
    this.#escape = /^(\[[ -?]*|O)$/.test(sequence) ? sequence : undefined;
    return true;
  }
}
