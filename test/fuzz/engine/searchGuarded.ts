import { Worker } from "node:worker_threads";
import * as z from "zod/mini";
import { CurrentInput } from "./currentInput.ts";
import type { Finding, SearchReport } from "./search.ts";

const reportSchema = z.object({
  inputs: z.number(),
  reachedBefore: z.number(),
  reached: z.number(),
  findings: z.array(z.object({ signature: z.string(), message: z.string(), input: z.string() })),
});

interface GuardedSearch {
  /** The target's name. */
  readonly target: string;
  readonly kept: readonly string[];
  readonly seed: number;
  readonly seconds: number;
  readonly mostFindings?: number;
}

/** So long one input may take. It is far more than any needs on a busy machine: what takes longer hangs. */
const longestInputSeconds = 30;
const mostMemoryMegabytes = 1024;

/** Searches in a thread of its own: an input that never ends, or takes all memory, is a finding as well. */
export async function searchGuarded(
  { target, ...work }: GuardedSearch,
  signal: AbortSignal,
): Promise<SearchReport> {
  const current = new CurrentInput();
  const worker = new Worker(new URL("searchThread.ts", import.meta.url), {
    workerData: { ...work, module: target, memory: current.memory },
    resourceLimits: { maxOldGenerationSizeMb: mostMemoryMegabytes },
  });
  const ended = Promise.withResolvers<SearchReport>();
  const report = (finding: Omit<Finding, "input">) =>
    ended.resolve({
      inputs: current.count,
      reachedBefore: 0,
      reached: 0,
      findings: [{ ...finding, input: current.read() }],
    });
  worker.once("message", (message) => ended.resolve(reportSchema.parse(message)));
  worker.once("error", (error) => {
    if (current.count === 0) ended.reject(error);
    else
      report({
        signature: "the thread goes on",
        message: String(error instanceof Error ? error.stack : error),
      });
  });
  worker.once("exit", (code) => ended.reject(new Error(`The thread of ${target} ended with ${code}.`)));
  const onAbort = () => ended.reject(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  let counted = current.count;
  let since = performance.now();
  const watch = setInterval(() => {
    if (current.count !== counted) {
      counted = current.count;
      since = performance.now();
    } else if (counted > 0 && performance.now() - since > longestInputSeconds * 1000) {
      report({
        signature: "every input ends",
        message: `One input took more than ${longestInputSeconds} s.`,
      });
    }
  }, 500);
  try {
    signal.throwIfAborted();
    return await ended.promise;
  } finally {
    clearInterval(watch);
    signal.removeEventListener("abort", onAbort);
    await worker.terminate();
  }
}
