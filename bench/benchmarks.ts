import { activation } from "./activation.ts";
import { admission } from "./admission.ts";
import type { Benchmark } from "./benchmark.ts";
import { coldStart } from "./coldStart.ts";
import { growth } from "./growth.ts";
import { handOver } from "./handOver.ts";
import { idle } from "./idle.ts";
import { masking } from "./masking.ts";
import { sizes } from "./sizes.ts";
import { start } from "./start.ts";

/** All that there are, in the order in which they are measured. */
export const benchmarks: readonly Benchmark[] = [
  handOver,
  admission,
  growth,
  start,
  coldStart,
  activation,
  masking,
  sizes,
  idle,
];
