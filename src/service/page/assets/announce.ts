/** A run's pipeline and the word for its status. */
export interface RunStatus {
  readonly pipeline: string;
  readonly word: string;
}

/** So many changes at once are told one by one; of more, only how many. */
const mostTold = 3;

/** The runs of the page by their elements' ids. */
export function statusesOf(main: Element): ReadonlyMap<string, RunStatus> {
  const rows = [...main.querySelectorAll<HTMLElement>("[data-run]")];
  return new Map(
    rows.map((row) => [
      row.id,
      { pipeline: row.dataset["run"] ?? "", word: row.querySelector(".status")?.textContent ?? "" },
    ]),
  );
}

/** What is worth saying of the change: runs that are new or stand differently. Empty when there are none. */
export function newsOf(
  before: ReadonlyMap<string, RunStatus>,
  after: ReadonlyMap<string, RunStatus>,
): string {
  const changed = [...after].filter(([id, { word }]) => before.get(id)?.word !== word);
  if (changed.length > mostTold) return `${changed.length} runs have changed.`;
  return changed.map(([, { pipeline, word }]) => `${pipeline}: ${word}.`).join(" ");
}
