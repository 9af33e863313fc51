import { resolve } from "node:path";
import { isatty } from "node:tty";
import { describeError, PipelineError } from "../../contract/errors.ts";
import {
  type DeclaredInput,
  type InputValue,
  type InputValues,
  longestInput,
} from "../../contract/pipelines.ts";
import { withHome } from "../../machine/home.ts";
import { inputMeaning, readInput, readInputs, requireInputs } from "../../pipeline/inputs.ts";
import { replaceControlCharacters } from "../../text/controlCharacters.ts";
import { type Asking, readLine } from "../terminal/readSecret.ts";
import type { Tool } from "../tool.ts";
import { listedPipelines, localPipelines, type Where } from "./namedPipelines.ts";

/** UTF-8 has at most three bytes per UTF-16 unit. */
const longestInputBytes = 3 * longestInput;

/**
 * The inputs of each pipeline: those on the command line that its file declares, and the answers to questions at a terminal.
 * @throws PipelineError `invalid-request` for inputs that no pipeline has, that don't fit, or that are missing; Interrupted.
 */
export async function inputsOfRuns(
  tool: Tool,
  pipelines: readonly string[],
  given: InputValues,
  { client, project, root }: Where,
): Promise<ReadonlyMap<string, InputValues>> {
  const { output, interrupted } = tool;
  // Not `process.stdin.isTTY`: the getter of `stdin` opens the stream.
  const canAsk = isatty(0) && output.err.isTerminal && !output.json;
  // For a single start, the service reports any mistake; before several, each is checked.
  if (Object.keys(given).length === 0 && !canAsk && pipelines.length === 1) return new Map();
  const served = await listedPipelines(client, project, interrupted);
  // A start on a service elsewhere brings the local file.
  const local = root === undefined || client?.environment !== undefined ? [] : await localPipelines(root);
  // The inputs of a broken file aren't known; the service reports its problems.
  const declared = new Map(
    [...served, ...local].map(({ name, inputs, problem }) => [
      name,
      problem === undefined ? inputs : undefined,
    ]),
  );
  const all = pipelines.map((name) => declared.get(name));
  if (pipelines.length > 1 && all.every((inputs) => inputs !== undefined)) {
    const known = all.flat().map((input) => ({ ...input, required: false }));
    const strange = pick(given, (name) => !known.some((input) => input.name === name));
    requireInputs({ name: pipelines.join("`, `"), inputs: known }, strange);
  }
  const result = new Map<string, InputValues>();
  for (const [index, name] of pipelines.entries()) {
    const inputs = all[index];
    const isOwn = (each: string) => inputs?.some((input) => input.name === each) ?? true;
    const own = pipelines.length === 1 ? given : pick(given, isOwn);
    const complete = canAsk ? { ...own, ...(await askedFor(inputs ?? [], own, interrupted)) } : own;
    if (inputs !== undefined) requireInputs({ name, inputs }, complete);
    result.set(name, complete);
  }
  return result;
}

function pick(values: InputValues, isWanted: (name: string) => boolean): InputValues {
  return Object.fromEntries(Object.entries(values).filter(([name]) => isWanted(name)));
}

/** Asks for the missing inputs, one after the other, until the terminal's input ends. */
async function askedFor(
  declared: readonly DeclaredInput[],
  given: InputValues,
  signal: AbortSignal,
): Promise<InputValues> {
  const read = readInputs(declared, given);
  const answers: [string, InputValue][] = [];
  for (const input of read.kind === "invalid" && read.problems.length === 0 ? read.missing : []) {
    const answer = await ask(input, { input: process.stdin, prompt: process.stderr }, signal);
    if (answer === undefined) break;
    answers.push([input.name, answer]);
  }
  return Object.fromEntries(answers);
}

async function ask(
  declared: DeclaredInput,
  asking: Asking,
  signal: AbortSignal,
): Promise<InputValue | undefined> {
  const { name, type, options, description } = declared;
  const say = (text: string) => asking.prompt.write(`${replaceControlCharacters(text)}\n`);
  const meaning = options === undefined ? inputMeaning(declared) : (description ?? "one of these");
  say(`${name}: ${meaning}`);
  for (const [index, option] of options?.entries() ?? []) say(`  ${index + 1}) ${option}`);
  const how = options !== undefined ? ` (1-${options.length})` : type === "boolean" ? " (y/n)" : "";
  for (;;) {
    const line = await readLine(asking, `${name}${how}: `, signal);
    if (line === undefined) return undefined;
    if (line === "") continue;
    const read = readInput(declared, meant(line, declared));
    if (read.kind === "valid") return read.value;
    say(read.problem);
  }
}

/** Interprets an answer: an option's number, `y` or `n`. */
function meant(line: string, { type, options }: DeclaredInput): InputValue {
  if (options?.some((option) => String(option) === line) === false) return options[Number(line) - 1] ?? line;
  if (type === "boolean" && /^y(es)?$/i.test(line)) return true;
  return type === "boolean" && /^no?$/i.test(line) ? false : line;
}

/**
 * The values of `--input name=value`; `name=@file` takes a file's or pipe's content, `name=@@text` a text that begins with `@`.
 * @throws PipelineError `usage` for a file that can't be read; Interrupted.
 */
export async function inputValuesOf(
  words: readonly string[] | undefined,
  { folder, interrupted }: Pick<Tool, "folder" | "interrupted">,
): Promise<InputValues> {
  const values: [string, string][] = [];
  // One after the other, so that a pipe that stays open doesn't keep the tool waiting if another input can't be read.
  for (const word of words ?? []) {
    const [name = ""] = word.split("=", 1);
    values.push([name, await textOf(name, word.slice(name.length + 1), folder, interrupted)]);
  }
  return Object.fromEntries(values);
}

async function textOf(name: string, text: string, folder: string, signal: AbortSignal): Promise<string> {
  if (!text.startsWith("@")) return text;
  if (text.startsWith("@@")) return text.slice(1);
  const path = resolve(folder, withHome(text.slice(1)));
  const { readUtf8 } = await import("../../project/projectFile.ts");
  const bytes = await bytesOf(path, signal).catch((cause: unknown) => {
    signal.throwIfAborted();
    throw unreadable(name, `${path} can't be read: ${describeError(cause)}`);
  });
  const read = readUtf8(bytes, true);
  if (read.kind === "other") throw unreadable(name, `${path}: ${read.problem}`);
  return read.text;
}

/** Reads a file, or a pipe such as a shell's `<(…)` until it is closed. @throws for a device, which might never end. */
async function bytesOf(path: string, signal: AbortSignal): Promise<Buffer> {
  const { closeSync, constants, createReadStream, fstatSync, openSync } = await import("node:fs");
  const { Socket } = await import("node:net");
  // Windows has neither the flag nor named pipes in folders.
  const fd = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  const facts = fstatSync(fd);
  if (!facts.isFile() && !facts.isFIFO()) {
    closeSync(fd);
    throw new Error("it is no file");
  }
  const stream = facts.isFIFO()
    ? new Socket({ fd, readable: true, signal })
    : createReadStream(path, { fd, signal });
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > longestInputBytes) throw new Error(`it is larger than ${longestInputBytes / 1024} KiB`);
  }
  return Buffer.concat(chunks);
}

function unreadable(name: string, message: string): PipelineError {
  return new PipelineError("usage", `The input \`${name}\`: ${message}.`, {
    next: `A text that begins with @ is written with two: \`--input ${name}=@@…\`.`,
  });
}
