import type { CallToolResult } from "@modelcontextprotocol/server";
import * as z from "zod/mini";
import { withNext } from "../../contract/errors.ts";
import { instant, lenient } from "../../contract/fields.ts";
import { runSchema } from "../../contract/run.ts";
import { toWire } from "../../contract/wire.ts";
import { replaceControlCharacters } from "../../text/controlCharacters.ts";
import { failureOf } from "../output/output.ts";

/** Describes a field to the agent. */
export function described<T extends z.ZodMiniType>(meaning: string, schema: T): T {
  return schema.check(z.describe(meaning));
}

const count = z.int().check(z.nonnegative());

const holderSchema = z.object({
  runId: z.string(),
  pipeline: z.optional(z.string()),
  isYours: described("whether the key in use started it", z.boolean()),
  createdAt: z.optional(instant),
  secondsLeft: z.optional(described("how long it may hold the slot at most, by its time limit", count)),
});

const quotaSchema = z.object({
  runsToday: count,
  runsPerDay: count,
  startsLeft: described(
    "how many runs you may still start today: what the day, --reserve and --max-runs leave",
    count,
  ),
  resetsAt: z.optional(described("when the day's count starts again", instant)),
  asOf: z.optional(described("when the service said this, by its clock", instant)),
  slots: described("how many active runs the org may have at once", count),
  holders: z.optional(
    described(
      "the runs that hold the slots, first the one that ends first; absent where the service doesn't tell",
      z.array(holderSchema),
    ),
  ),
  next: described("what to do next", z.string()),
});

/** Why a run wasn't started, and when to ask again. */
export const refusalSchema = z.object({
  scope: described(
    "org: another run holds the slot. free-day: the day's runs are used up. session: this server's --max-runs are started. reserve: what is left of the day is for people.",
    z.enum(["org", "free-day", "session", "reserve"]),
  ),
  retryable: described("whether to ask again at all, once retry-after-seconds are over", z.boolean()),
  retryAfterSeconds: z.optional(count),
  resetsAt: z.optional(instant),
  holder: z.optional(holderSchema),
  next: described("what to do next", z.string()),
});

/** The fields that any result may have besides its tool's facts. */
export const aroundFacts = {
  quota: z.optional(quotaSchema),
  quotaProblem: z.optional(described("why the quota isn't known", z.string())),
  error: z.optional(z.object({ type: z.string(), message: z.string(), next: z.string() })),
};

export type Holder = z.infer<typeof holderSchema>;
export type AgentQuota = z.infer<typeof quotaSchema>;
export type StartRefusal = z.infer<typeof refusalSchema>;

/** The quota, or why it isn't known. */
export type QuotaPart = { readonly quota: AgentQuota } | { readonly quotaProblem: string };

/** The outcome of a call. `quota` is set if the call knows it; otherwise it is read for the result. */
export type ToolOutcome<Facts> =
  | (ToolReply & { readonly kind: "done"; readonly facts: Facts })
  | (ToolReply & { readonly kind: "refused"; readonly refusal: StartRefusal })
  | { readonly kind: "failed"; readonly error: unknown };

interface ToolReply {
  readonly text: string;
  readonly quota?: AgentQuota | undefined;
}

/** The most steps of a run in a result, since an agent's context is small. */
export const mostSteps = 100;

/** A run as agents see it. Its outputs are typed as any JSON, which `unknown` would not express. */
export const agentRunSchema = z.extend(runSchema, {
  stepsLeftOut: z.optional(
    described(
      `how many of its steps are left out: of more than ${mostSteps} those that succeeded, or did not run, with their artifacts; a step-index counts all`,
      count,
    ),
  ),
  outputs: lenient(z.optional(z.record(z.string(), z.json()))),
});

/** Parses maps and lists that some clients send as JSON texts. No text that a tool accepts begins like one. */
export function withoutJsonTexts(value: unknown): unknown {
  const entries = Object.entries(value ?? {}).map(([name, item]: [string, unknown]) => [name, parsed(item)]);
  return Object.fromEntries(entries);
}

function parsed(value: unknown): unknown {
  if (typeof value !== "string" || !/^\s*[[{]/.test(value)) return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

/** The result as the protocol sends it: a short text to read, and the same as a value. */
export function toolResult(outcome: ToolOutcome<object>, quota: QuotaPart): CallToolResult {
  const { text, value } = said(outcome);
  return {
    content: [{ type: "text", text: `${text}\n${quotaLine(quota)}` }],
    // Through JSON, to drop undefined fields.
    structuredContent: JSON.parse(JSON.stringify(toWire({ ...value, ...quota }))),
    ...(outcome.kind === "done" ? {} : { isError: true }),
  };
}

function said(outcome: ToolOutcome<object>): { readonly text: string; readonly value: object } {
  switch (outcome.kind) {
    case "done":
      return { text: outcome.text, value: outcome.facts };
    case "refused":
      return { text: `${outcome.text} ${outcome.refusal.next}`, value: { refusal: outcome.refusal } };
    case "failed": {
      const { type, message, next } = failureOf(outcome.error).failure;
      return { text: withNext(message, next), value: { error: { type, message, next } } };
    }
  }
}

function quotaLine(part: QuotaPart): string {
  if ("quotaProblem" in part) return `Quota: not known. ${part.quotaProblem}`;
  const { runsToday, runsPerDay, startsLeft, resetsAt, next } = part.quota;
  const reset = resetsAt === undefined ? "at 00:00 UTC" : `at ${resetsAt}`;
  return replaceControlCharacters(
    `Quota: ${runsToday} of ${runsPerDay} runs used today, ${startsLeft} left for you; the count starts again ${reset}. ${next}`,
  );
}
