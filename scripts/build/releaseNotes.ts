import { Problem } from "../problem.ts";

/**
 * The first part of a changelog: what is new in what is built now.
 * @throws Problem without any.
 */
export function releaseNotes(changelog: string): { readonly title: string; readonly notes: string } {
  const [, part = ""] = changelog.split(/^## /m);
  const [title = "", ...lines] = part.split("\n");
  const notes = lines.join("\n").trim();
  if (notes === "")
    throw new Problem(
      "CHANGELOG.md has no notes under its first heading.",
      "Write what is new below `## <version>`.",
    );
  return { title: title.trim(), notes };
}
