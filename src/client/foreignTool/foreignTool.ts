import { constants } from "node:fs";
import { access, readlink, realpath, stat } from "node:fs/promises";
import { dirname, isAbsolute, join, resolve } from "node:path";
import * as z from "zod/mini";
import { errorTypes, PipelineError } from "../../contract/errors.ts";
import { secondsToReset } from "../../contract/limits.ts";
import type { Hint, Refusal } from "../../contract/refusal.ts";
import { fromWire, type Parsed } from "../../contract/wire.ts";
import { systemClock } from "../../machine/clock.ts";
import { isInside } from "../../project/projectFile.ts";
import { foreignText } from "../service/foreignText.ts";
import { type ForeignTool, runTool, type ToolEnd } from "./toolProcess.ts";

type ToolOutcome = { readonly kind: "done" } | ({ readonly kind: "refused" } & ForeignRefusal);

/**
 * Runs `<tool> run <pipeline>` to its end; the tool itself waits for a slot (contract: "The command-line tool"). The key is
 * passed in the tool's environment, never in its arguments, which every user of the machine can read.
 *
 * @throws PipelineError `breaks-contract` for exit code 5 without the refusal object, `internal` with the tool's own message for
 * any other exit code but 0, `invalid-request` if the tool can't be run; the signal's reason.
 */
export async function startByTool(
  tool: ForeignTool,
  pipeline: string,
  signal: AbortSignal,
): Promise<ToolOutcome> {
  if (pipeline === "" || pipeline.startsWith("-")) {
    throw new PipelineError("invalid-request", `"${pipeline}" can't be the name of a pipeline.`);
  }
  const ended = await runTool(tool, ["run", pipeline], signal);
  if (ended.end === 0) return { kind: "done" };
  if (ended.end !== errorTypes["too-many-runs"].exitCode) throw failed(tool, "run", ended);
  const told = readRefusalObject(ended.output, (tool.clock ?? systemClock).now());
  if (told.kind === "invalid") {
    throw new PipelineError(
      "breaks-contract",
      `${tool.cliPath} run ended with exit code 5, but ${told.problem}.`,
      { next: "Check that pipelineRuns.cliPath is the service's own tool." },
    );
  }
  return {
    kind: "refused",
    refusal: told.value.refusal,
    message: foreignText(told.value.message, tool.apiKey),
    hints: told.value.hints.map(({ command, doc }) => ({
      command: foreignText(command, tool.apiKey),
      doc: foreignText(doc, tool.apiKey),
    })),
  };
}

/** Runs `<tool> runs cancel --mine`. @throws as {@link startByTool}. */
export async function cancelMineByTool(tool: ForeignTool, signal: AbortSignal): Promise<void> {
  const ended = await runTool(tool, ["runs", "cancel", "--mine"], signal);
  if (ended.end !== 0) throw failed(tool, "runs cancel", ended);
}

function failed(tool: ForeignTool, command: string, { end, complaints, output }: ToolEnd): PipelineError {
  const how = typeof end === "number" ? `exit code ${end}` : `signal ${end}`;
  const lines = (complaints.trim() || output.trim()).split(/\r?\n/).slice(-3).join(" / ");
  const said = foreignText(lines, tool.apiKey);
  return new PipelineError(
    "internal",
    `${tool.cliPath} ${command} ended with ${how}${said === "" ? "." : `: ${said}`}`,
    { next: "Try the same in a terminal to see all that it says." },
  );
}

/** A tool's refusal object (contract: "The command-line tool"). */
interface ForeignRefusal {
  readonly refusal: Refusal;
  readonly message: string;
  readonly hints: readonly Hint[];
}

const refusalObjectSchema = z.object({
  ok: z.literal(false),
  command: z.string(),
  error: z.object({ type: z.literal("too-many-runs"), message: z.string() }),
  hints: z.array(z.object({ command: z.string(), doc: z.string() })),
});

/**
 * Reads the JSON object that a tool prints when a limit refuses. Only its texts hold the scope and the seconds.
 *
 * @param now the caller's clock in milliseconds since 1970, for a refusal that names no seconds.
 */
export function readRefusalObject(output: string, now: number): Parsed<ForeignRefusal> {
  let body: unknown;
  try {
    body = JSON.parse(output);
  } catch {
    return { kind: "invalid", problem: "its output is not one JSON object" };
  }
  const read = fromWire(refusalObjectSchema, body);
  if (read.kind === "invalid") return read;
  const { error, hints } = read.value;
  const isDaily = /\bfree-day\b/.test(error.message);
  const refusal: Refusal = isDaily
    ? {
        scope: "free-day",
        secondsToReset: secondsIn([...hints.map(({ doc }) => doc), error.message]) ?? secondsToReset(now),
      }
    : { scope: "org" };
  return { kind: "valid", value: { refusal, message: error.message, hints } };
}

/** The first number followed by a unit of seconds. */
function secondsIn(texts: readonly string[]): number | undefined {
  for (const text of texts) {
    const match = /\b(\d{1,5})\s*(?:s|sec|seconds?)\b/.exec(text);
    if (match !== null) return Number(match[1]);
  }
  return undefined;
}

/** More links in a row than any system follows. */
const mostLinks = 40;

/**
 * Checks that a tool may get the API key: it must be an absolute path of an executable file outside the given folders, links
 * included. A relative path would depend on the working folder, and a workspace's files come from others.
 *
 * @throws PipelineError `usage` with the reason.
 */
export async function checkToolPath(path: string, folders: readonly string[]): Promise<void> {
  if (!isAbsolute(path)) throw unusable(path, "is no absolute path");
  for (const place of await placesOf(path)) {
    for (const folder of folders) {
      if (isInside(resolve(folder), place) || isInside(await realOf(folder), place)) {
        throw unusable(path, "lies in a folder of this window, whose files must not be given the API key");
      }
    }
  }
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) throw unusable(path, "is not there");
  if (!found.isFile()) throw unusable(path, "is no plain file");
  try {
    await access(path, constants.X_OK);
  } catch {
    throw unusable(path, "is not executable");
  }
}

/** The path, and every target of its links. */
async function placesOf(path: string): Promise<string[]> {
  const places = [resolve(path)];
  for (let at = resolve(path); places.length < mostLinks; ) {
    const here = join(await realOf(dirname(at)), at.slice(dirname(at).length));
    places.push(here);
    const target = await readlink(here).catch(() => undefined);
    if (target === undefined) break;
    at = resolve(dirname(here), target);
    places.push(at);
  }
  return places;
}

function realOf(path: string): Promise<string> {
  return realpath(path).catch(() => resolve(path));
}

function unusable(path: string, why: string): PipelineError {
  return new PipelineError("usage", `The setting pipelineRuns.cliPath can't be used: ${path} ${why}.`, {
    next: "Set it to the service's own tool, as an absolute path outside the workspace.",
  });
}
