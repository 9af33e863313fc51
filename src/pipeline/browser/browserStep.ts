import * as z from "zod/mini";
import type { DeepReadonly } from "../deepReadonly.ts";
import { statusRangeSchema } from "../expectedStatus.ts";
import { textExpectationSchema } from "../textExpectation.ts";
import { actionSchema, seenElementsSchema } from "./action.ts";

/** A step that uses a page, settled against its resource and ready to run. */
export const browserStepSchema = z.object({
  type: z.literal("browser"),
  name: z.string(),
  /** The resource's name. All steps of a run that use it share one browser and its page. */
  use: z.string(),
  browser: z.object({
    /** A path, against the project's folder, or a program on the PATH. One of this machine's own when it isn't given. */
    executable: z.optional(z.string()),
    /** In CSS pixels. */
    viewport: z.object({ width: z.int(), height: z.int() }),
  }),
  /** The resource's base URL with the step's path put behind it. Without one the step goes on where the last one left. */
  goto: z.optional(z.string()),
  actions: z.array(actionSchema),
  /** For all that the step does, once the browser is there. */
  timeoutMilliseconds: z.number(),
  expect: z.object({
    status: z.optional(statusRangeSchema),
    url: z.optional(textExpectationSchema),
    title: z.optional(textExpectationSchema),
    text: z.optional(textExpectationSchema),
    elements: z.array(seenElementsSchema),
  }),
  /** The name of the picture that is kept when the step has succeeded. */
  screenshot: z.optional(z.string()),
});

export type BrowserStep = DeepReadonly<z.infer<typeof browserStepSchema>>;
