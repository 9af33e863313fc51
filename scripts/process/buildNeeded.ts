import { globSync } from "node:fs";
import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { vsixFile } from "../editor/vsixFile.ts";
import { projectRoot } from "../projectRoot.ts";
import type { Say } from "../say.ts";
import { runNpmScript } from "./npmScript.ts";

/** `dist` is what `npm run build` makes, `one-file` and `npm-package` what `npm run package:tool` does, `vsix` the extension's package. */
export type Built = "dist" | "npm-package" | "one-file" | "vsix";

/** What is written last by the script that makes it. */
const outputs: Readonly<Record<Built, { readonly file: string; readonly script: string }>> = {
  dist: { file: "dist/man/pipeline.1", script: "build" },
  "npm-package": { file: "dist-npm/package/package.json", script: "package:tool" },
  "one-file": { file: "dist-one/pipeline.cjs", script: "package:tool" },
  vsix: { file: vsixFile, script: "package" },
};

/** What the outputs are made from. */
const sources = ["src/**/*", "scripts/build/**/*", "media/**/*", "l10n/*", "esbuild.mjs", "package*.json"];

/** Builds what is missing, and what is older than what it's made from. @throws Problem when that fails. */
export async function buildNeeded(needs: readonly Built[], say: Say, signal: AbortSignal): Promise<void> {
  const changed = await newest(sources);
  for (const need of new Set(needs)) {
    const { file, script } = outputs[need];
    if ((await changedAt(file)) >= changed) continue;
    say(`Building (npm run ${script})…`);
    await runNpmScript(script, signal);
  }
}

async function newest(patterns: readonly string[]): Promise<number> {
  const files = globSync(patterns, { cwd: projectRoot });
  return Math.max(...(await Promise.all(files.map(changedAt))));
}

/** @returns the time of the last change in milliseconds; minus infinity of what isn't there. */
function changedAt(file: string): Promise<number> {
  return stat(resolve(projectRoot, file)).then(
    ({ mtimeMs }) => mtimeMs,
    () => Number.NEGATIVE_INFINITY,
  );
}
