import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "../..");

/** The whole pipelines that the documentation shows, with the page that each stands on. */
export function shownPipelines(): { readonly file: string; readonly pipelines: readonly string[] }[] {
  return ["README.md", ...globSync("docs/**/*.md", { cwd: root })].flatMap((file) => {
    const text = readFileSync(join(root, file), "utf8");
    const pipelines = [...text.matchAll(/^```yaml\n(.*?)^```/gms)].flatMap(([, block = ""]) =>
      /^steps:/m.test(block) ? [block] : [],
    );
    return pipelines.length === 0 ? [] : [{ file, pipelines }];
  });
}
