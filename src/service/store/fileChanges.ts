import { createTwoFilesPatch, OMIT_HEADERS } from "diff";
import type { RanPipeline } from "../../contract/changes.ts";

/** Files that differ in more lines than that share little, and to compare them would take long. */
const mostChangedLines = 1_000;

/** The unified difference of each file that differs, by its path. */
export function fileChanges(
  before: RanPipeline["texts"],
  after: RanPipeline["texts"],
): Record<string, string> {
  const paths = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return Object.fromEntries(
    paths.flatMap((path) => {
      const [old = "", now = ""] = [before, after].map((texts) =>
        Object.hasOwn(texts, path) ? texts[path] : "",
      );
      return old === now ? [] : [[path, unified(old, now)]];
    }),
  );
}

function unified(before: string, after: string): string {
  const lines = createTwoFilesPatch("", "", before, after, "", "", {
    context: 2,
    maxEditLength: mostChangedLines,
    headerOptions: OMIT_HEADERS,
  });
  return lines?.replace(/\n$/, "") ?? `more than ${mostChangedLines} lines differ`;
}
