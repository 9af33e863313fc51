import * as z from "zod/mini";
import type { Calls } from "./worker.ts";

const callSchema = z.object({ id: z.number(), name: z.string(), given: z.array(z.any()) });

/**
 * Answers the calls of the benchmark that has started this process.
 * @param atEnd closes what is open, once that benchmark needs no more or is gone; then the process ends.
 */
export function answerCalls<Offered extends Calls>(
  offered: Offered,
  atEnd: () => Promise<void> | void,
): void {
  const answer = async (message: unknown) => {
    const { id, name, given } = callSchema.parse(message);
    try {
      const call = offered[name];
      if (call === undefined) throw new Error(`there is no call ${name}`);
      process.send?.({ id, kind: "done", value: await call(...given) });
    } catch (error) {
      process.send?.({
        id,
        kind: "failed",
        why: error instanceof Error ? String(error.stack) : String(error),
      });
    }
  };
  process.on("message", (message) => void answer(message));
  process.once("disconnect", () => void Promise.resolve(atEnd()).finally(() => process.exit(0)));
}

/** Now, in milliseconds of the clock that all processes of this machine share. */
export function sharedNow(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
