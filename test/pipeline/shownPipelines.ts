import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { ReadPart } from "../../src/pipeline/partFiles.ts";

const root = join(import.meta.dirname, "../..");

/** The whole pipelines that the documentation shows, with the page that each stands on. */
export function shownPipelines(): { readonly file: string; readonly pipelines: readonly string[] }[] {
  return ["README.md", ...globSync("docs/**/*.md", { cwd: root }).sort()].flatMap((file) => {
    const text = readFileSync(join(root, file), "utf8");
    const pipelines = [...text.matchAll(/^```yaml\n(.*?)^```/gms)].flatMap(([, block = ""]) =>
      /^steps:/m.test(block) ? [block] : [],
    );
    return pipelines.length === 0 ? [] : [{ file, pipelines }];
  });
}

/** The path in the first line of a pipeline that is shown as a file of the samples: `# parts/login.yaml`. */
export function sampleOf(pipeline: string): string | undefined {
  return /^# ((?:parts|pipelines)\/[\w-]+\.yaml)\n/.exec(pipeline)?.[1];
}

/** The parts that the pipelines of the documentation include are those of the samples. */
export const samplePart: ReadPart = (path) => {
  try {
    return { kind: "read", text: readFileSync(join(root, "samples", path), "utf8") };
  } catch (error) {
    return { kind: "unreadable", problem: String(error) };
  }
};
