import type { StepSurroundings } from "../stepOutcome.ts";
import type { ReadRows } from "./rowReader.ts";

/** In UTF-16 units. */
const largestFile = 1024 * 1024;

/** Keeps the rows with the run as `rows.json`, as many of them as fit; a note says when not all do. */
export async function keepRows(
  read: ReadRows,
  { keep, log }: Pick<StepSurroundings, "keep" | "log">,
): Promise<void> {
  if (read.returned === 0) return;
  let size = 0;
  const end = read.rows.findIndex((row) => {
    size += row.length + 2;
    return size > largestFile;
  });
  const rows = end === -1 ? read.rows : read.rows.slice(0, end);
  await keep({
    name: "rows.json",
    mediaType: "application/json",
    content: rows.length === 0 ? "[]\n" : `[\n${rows.join(",\n")}\n]\n`,
  });
  if (rows.length < read.returned) {
    log.note(`rows.json holds the first ${rows.length} of ${read.returned} rows`);
  }
}
