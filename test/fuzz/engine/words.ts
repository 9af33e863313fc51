import { globSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

const mostWords = 2000;

/** The texts that stand in the covered files: what a reader compares with is what makes an input get further. */
export function wordsIn(root: string, covers: readonly string[]): readonly string[] {
  const files = covers
    .filter((path) => path.startsWith("src/"))
    .flatMap((path) =>
      statSync(join(root, path)).isDirectory() ? globSync(`${path}/**/*.ts`, { cwd: root }) : [path],
    );
  const words = files.flatMap((file) => {
    const text = readFileSync(join(root, file), "utf8").replace(/^import .*$/gm, "");
    return [...text.matchAll(/"([^"\n\\]{1,40})"|^\s{2,}([a-z][\w-]{0,30}):/gm)].map(
      ([, one, other]) => one ?? other ?? "",
    );
  });
  return [...new Set(words)].slice(0, mostWords);
}
