import { availableParallelism } from "node:os";

/** What became of each, in their order, with no more under way at once than the machine has cores for. */
export async function someAtOnce<T, R>(
  items: readonly T[],
  act: (item: T) => Promise<R>,
): Promise<PromiseSettledResult<R>[]> {
  const ends: PromiseSettledResult<R>[] = [];
  const waiting = items.entries();
  const worker = async (): Promise<void> => {
    for (const [index, item] of waiting) [ends[index] = lost] = await Promise.allSettled([act(item)]);
  };
  await Promise.all(Array.from({ length: availableParallelism() }, worker));
  return ends;
}

const lost: PromiseRejectedResult = { status: "rejected", reason: "it did not end" };

/** Acts on each, some at once, and throws the first fault. */
export async function eachOf<T>(items: readonly T[], act: (item: T) => Promise<void>): Promise<void> {
  for (const end of await someAtOnce(items, act)) if (end.status === "rejected") throw end.reason;
}
