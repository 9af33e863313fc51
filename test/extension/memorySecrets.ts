import type { ApiKeys } from "../../src/extension/keys/apiKeys.ts";

/** Where no file can be, to say that no key is stored. */
export const nowhere = `${import.meta.filename}/no-keys`;

/** The editor's secret storage, in memory. */
export function memorySecrets() {
  const kept = new Map<string, string>();
  const listeners = new Set<(change: { key: string }) => void>();
  const tell = (key: string) => {
    for (const listener of listeners) listener({ key });
  };
  return {
    kept,
    storage: {
      keys: async () => [...kept.keys()],
      get: async (key: string) => kept.get(key),
      store: async (key: string, value: string) => {
        kept.set(key, value);
        tell(key);
      },
      delete: async (key: string) => {
        kept.delete(key);
        tell(key);
      },
      onDidChange: (listener: (change: { key: string }) => void) => {
        listeners.add(listener);
        return { dispose: () => listeners.delete(listener) };
      },
    },
  };
}

/** The oldest key that is kept for an origin. */
export async function firstOf(keys: ApiKeys | undefined, origin: string) {
  return (await keys?.list())?.find((kept) => kept.origin === origin);
}
