import * as z from "zod/mini";

/**
 * `POST /api/service/hand-over` (ours, embedded service only): when it leaves for a newer one. `later` is after the last
 * run, `never` where a person has started it.
 */
export const handOverReplySchema = z.object({ leaving: z.enum(["now", "later", "never"]) });

export type Leaving = z.infer<typeof handOverReplySchema>["leaving"];
