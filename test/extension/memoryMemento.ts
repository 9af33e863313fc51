/** The editor's memory of a workspace, in memory. */
export function memoryMemento() {
  const kept = new Map<string, unknown>();
  return {
    kept,
    get: (name: string) => kept.get(name) as never,
    update: async (name: string, value: unknown) => {
      kept.set(name, structuredClone(value));
    },
  };
}
