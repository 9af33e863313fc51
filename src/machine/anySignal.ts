/** The signals that each of ours was made of. */
const sources = new WeakMap<AbortSignal, readonly AbortSignal[]>();

/**
 * `AbortSignal.any`, and nothing else is to be used: a signal of that is never aborted where nobody listened to it when its source
 * was aborted and the source is gone since, as one of `AbortSignal.timeout` always is (Node 24.21).
 */
export function anySignal(signals: readonly AbortSignal[]): AbortSignal {
  // biome-ignore lint/plugin: the one place.
  const any = AbortSignal.any([...signals]);
  sources.set(any, signals);
  return any;
}
