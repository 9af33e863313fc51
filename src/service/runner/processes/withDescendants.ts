export interface ProcessEntry {
  readonly pid: number;
  readonly parent: number;
}

/** The entries that `isOurs` picks, and everything that descends from them. */
export function withDescendants<Entry extends ProcessEntry>(
  entries: readonly Entry[],
  isOurs: (entry: Entry) => boolean,
): readonly number[] {
  const children = Map.groupBy(entries, ({ parent }) => parent);
  const found = new Set<number>();
  const waiting = entries.filter(isOurs);
  for (let entry = waiting.pop(); entry !== undefined; entry = waiting.pop()) {
    if (found.has(entry.pid)) continue;
    found.add(entry.pid);
    waiting.push(...(children.get(entry.pid) ?? []));
  }
  return [...found];
}
