/**
 * Runs two tasks at the same time. When one fails, the other is aborted, and the failure is thrown once both have
 * ended, so that neither goes on behind the caller's back.
 */
export async function together<First, Second>(
  first: (signal: AbortSignal) => Promise<First>,
  second: (signal: AbortSignal) => Promise<Second>,
  signal: AbortSignal,
): Promise<[First, Second]> {
  const failed = new AbortController();
  const either = AbortSignal.any([signal, failed.signal]);
  const tasks = [first(either), second(either)] as const;
  try {
    return await Promise.all(tasks);
  } catch (error) {
    failed.abort(error);
    await Promise.allSettled(tasks);
    throw error;
  }
}
