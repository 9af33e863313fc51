// The thread in which a target is searched: what hangs in it or takes all memory can be ended from outside.
import { parentPort, workerData } from "node:worker_threads";
import * as z from "zod/mini";
import { projectRoot } from "../../../scripts/projectRoot.ts";
import { Coverage } from "./coverage.ts";
import { CurrentInput } from "./currentInput.ts";
import { search } from "./search.ts";
import { wordsIn } from "./words.ts";

const workSchema = z.object({
  module: z.string(),
  kept: z.array(z.string()),
  seed: z.number(),
  seconds: z.number(),
  mostFindings: z.optional(z.number()),
  memory: z.instanceof(SharedArrayBuffer),
});

const { module, memory, mostFindings, ...work } = workSchema.parse(workerData);
const current = new CurrentInput(memory);
// Loaded once counting has begun, or nothing of it would be counted.
await using coverage = await Coverage.begin();
const { loadTarget } = await import("../targets.ts");
const target = await loadTarget(module);
const checker = await target.open();
try {
  const report = await search({
    ...work,
    ...(mostFindings === undefined ? {} : { mostFindings }),
    target,
    checker,
    coverage: coverage.of(projectRoot, target.covers),
    words: [...(target.words ?? []), ...wordsIn(projectRoot, target.covers)],
    onInput: (input) => current.write(input),
  });
  parentPort?.postMessage(report);
} finally {
  await checker.close?.();
}
