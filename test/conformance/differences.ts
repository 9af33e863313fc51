import type { Rows } from "./rows.ts";

/** What differs between the list that is kept and the one of the pages, each as one line that names the row. */
export function differences(kept: Rows, found: Rows): string[] {
  const before = flat(kept);
  const after = flat(found);
  const changed = [...before].flatMap(([id, hash]) => {
    const now = after.get(id);
    if (now === undefined) return [`${id} is no longer there, or has changed`];
    return now === hash ? [] : [`${id} has changed`];
  });
  const added = [...after.keys()].filter((id) => !before.has(id)).map((id) => `${id} is new`);
  return [...changed, ...added];
}

function flat(rows: Rows): Map<string, string> {
  return new Map(
    Object.entries(rows).flatMap(([page, sections]) =>
      Object.entries(sections).flatMap(([section, named]) =>
        Object.entries(named).map(([name, hash]) => [`${page}, ${section}: ${name}`, hash] as const),
      ),
    ),
  );
}
