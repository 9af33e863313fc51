/** The sources of each signal, kept from being collected. */
const sources = new WeakMap<AbortSignal, readonly AbortSignal[]>();

/**
 * Use this instead of `AbortSignal.any`, whose signal is never aborted if nobody listened to it when its source was aborted and
 * the source has been collected since, as one of `AbortSignal.timeout` always is (Node 24.21).
 */
export function anySignal(signals: readonly AbortSignal[]): AbortSignal {
  // biome-ignore lint/plugin: the one place.
  const any = AbortSignal.any([...signals]);
  sources.set(any, signals);
  return any;
}
