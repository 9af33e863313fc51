import { projectRoot } from "../scripts/projectRoot.ts";
import type { Benchmark } from "./benchmark.ts";
import { sizeLimits, weigh } from "./sizeLimits.ts";

/** What is installed, and the programs of it, each beside its limit. */
export const sizes: Benchmark = {
  name: "sizes",
  decides: "whether something that is installed or loaded has grown unseen",
  measure: async () => ({
    kind: "measured",
    rounds: 1,
    tables: [
      {
        rows: await Promise.all(
          sizeLimits.map(async (limit) => ({
            name: limit.name,
            figures: [
              {
                name: "size",
                value: await weigh(limit, projectRoot),
                unit: "bytes" as const,
                goal: { atMost: limit.atMostBytes },
              },
            ],
          })),
        ),
      },
    ],
  }),
};
