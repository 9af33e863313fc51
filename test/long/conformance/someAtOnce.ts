import { availableParallelism } from "node:os";

/** Acts on each, with no more under way at once than the machine has cores for, and throws the first fault. */
export async function eachOf<T>(items: readonly T[], act: (item: T) => Promise<void>): Promise<void> {
  const waiting = items.values();
  const worker = async (): Promise<void> => {
    for (const item of waiting) await act(item);
  };
  const ends = await Promise.allSettled(Array.from({ length: availableParallelism() }, worker));
  for (const end of ends) if (end.status === "rejected") throw end.reason;
}
