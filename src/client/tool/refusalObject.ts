import * as z from "zod/mini";
import type { Hint, Refusal } from "../../contract/refusal.ts";
import { secondsToReset } from "../../contract/time.ts";
import { fromWire, type Parsed } from "../../contract/wire.ts";

/** What a tool's refusal object says (service description: "Command-line tool"). */
export interface ToldRefusal {
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
 * Reads the one JSON object that a tool prints when a limit refuses. The scope and the seconds stand only in its texts.
 *
 * @param now the caller's clock in milliseconds since 1970, for a refusal that names no seconds.
 */
export function readRefusalObject(output: string, now: number): Parsed<ToldRefusal> {
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
