import { PipelineError } from "../../contract/errors.ts";
import { Interrupted } from "./interrupts.ts";
import type { Stream } from "./terminal.ts";

export type Input = NodeJS.ReadStream;

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

/** Raw mode turns off the echo, and Ctrl-C arrives as a character. It always ends before this returns or throws. */
async function readTyped(
  input: Input,
  prompt: Stream,
  question: string,
  signal: AbortSignal,
): Promise<string> {
  const line = new SecretLine(longestSecret);
  input.setRawMode(true);
  try {
    prompt.write(question);
    for (;;) {
      const chunk = await nextChunk(input, signal);
      if (chunk === undefined) return "";
      const typed = line.feed(chunk);
      switch (typed.kind) {
        case "typing":
          continue;
        case "entered":
          return typed.text;
        case "interrupted":
          throw new Interrupted("interrupted");
        case "too-long":
          throw tooLong();
        default:
          typed satisfies never;
      }
    }
  } finally {
    input.setRawMode(false);
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

/** The state of a line that is typed without echo. */
export type Typed =
  | { readonly kind: "typing" }
  | { readonly kind: "entered"; readonly text: string }
  /** Ctrl-C. */
  | { readonly kind: "interrupted" }
  | { readonly kind: "too-long" };

/**
 * A line typed in raw mode. Enter and Ctrl-D end it; Backspace, Ctrl-U and Ctrl-W edit it; bracketed-paste sequences,
 * cursor keys and other control characters are ignored.
 */
export class SecretLine {
  readonly #longest: number;
  #text = "";
  /** The unfinished escape sequence after its ESC. */
  #escape: string | undefined;

  constructor(longest: number) {
    this.#longest = longest;
  }

  /** @param chunk input from the terminal; what follows the line's end in it is dropped. */
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
    // Enter and Ctrl-C work after a lone Escape, too.
    if (character < " ") {
      this.#escape = undefined;
      return false;
    }
    const sequence: string = this.#escape + character;
    this.#escape = /^(\[[ -?]*|O)$/.test(sequence) ? sequence : undefined;
    return true;
  }
}
