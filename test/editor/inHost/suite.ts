// Loaded by VS Code inside its extension host, from where buildSuite.ts puts it: beside the folder of built tests.
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { format } from "node:util";
import Mocha from "mocha";
import { linePrefixVariable } from "./linePrefix.ts";

/**
 * Runs every built test file; VS Code calls it once everything that starts with the window has started.
 * @throws when a test failed; the tests' own report says which.
 */
export async function run(): Promise<void> {
  const prefix = process.env[linePrefixVariable] ?? "";
  Mocha.reporters.Base.consoleLog = (...line: unknown[]) => {
    for (const part of format(...line).split("\n")) console.log(`${prefix}${part}`);
  };
  const mocha = new Mocha({ ui: "bdd", color: false, timeout: 30_000 });
  const folder = join(import.meta.dirname, "tests");
  for (const file of (await readdir(folder)).sort()) {
    if (file.endsWith(".test.mjs")) mocha.addFile(join(folder, file));
  }
  await mocha.loadFilesAsync();
  const failures = await new Promise<number>((resolve) => {
    mocha.run(resolve);
  });
  if (failures > 0) throw new Error(`${failures} of the tests inside the editor failed`);
}
