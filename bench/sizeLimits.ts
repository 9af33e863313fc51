import { globSync } from "node:fs";
import { stat } from "node:fs/promises";
import { join } from "node:path";

/** Something that is installed or loaded, and what it may weigh at most. */
export interface SizeLimit {
  readonly name: string;
  /** Below the repository, with `/`; the sum of all that it matches. */
  readonly pattern: string;
  readonly atMostBytes: number;
}

const kilobyte = 1024;

/** A tenth or so above what is there, so that what grows is seen; what a face loads is held tighter than what lies there. */
export const sizeLimits: readonly SizeLimit[] = [
  {
    name: "the extension's package",
    pattern: "pipeline-runs.vsix",
    atMostBytes: 3400 * kilobyte,
  },
  { name: "the package for npm", pattern: "dist-npm/*.tgz", atMostBytes: 2500 * kilobyte },
  { name: "the tool's entry", pattern: "dist/cli.js", atMostBytes: 2 * kilobyte },
  { name: "the tool's other pieces", pattern: "dist/tool/*.js", atMostBytes: 1400 * kilobyte },
  { name: "undici, for the tool and a run", pattern: "dist/vendor/undici.js", atMostBytes: 820 * kilobyte },
  { name: "the library of `pipeline mcp`", pattern: "dist/vendor/mcp.js", atMostBytes: 300 * kilobyte },
  { name: "the service", pattern: "dist/service.js", atMostBytes: 570 * kilobyte },
  { name: "a run's own program", pattern: "dist/runner.js", atMostBytes: 220 * kilobyte },
  { name: "the extension's entry", pattern: "dist/extension.cjs", atMostBytes: 11 * kilobyte },
  {
    name: "the extension's other pieces",
    pattern: "dist/extension/*.js",
    atMostBytes: 780 * kilobyte,
  },
];

/** What it weighs, in bytes. @throws Error where nothing is: it isn't built. */
export async function weigh({ pattern }: SizeLimit, root: string): Promise<number> {
  const files = globSync(pattern, { cwd: root });
  if (files.length === 0) throw new Error(`${pattern} isn't built`);
  const sizes = await Promise.all(files.map(async (file) => (await stat(join(root, file))).size));
  return sizes.reduce((total, size) => total + size, 0);
}
