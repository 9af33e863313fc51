// Loaded by VS Code inside its extension host, from where run.ts puts it: beside the built tests.
import { appendFileSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { format } from "node:util";
import Mocha from "mocha";
import { reportVariable } from "./report.ts";

/**
 * Runs every built test file; VS Code calls it once everything that starts with the window has started.
 * @throws when a test failed; the tests' own report says which.
 */
export async function run(): Promise<void> {
  const report = process.env[reportVariable] ?? "";
  Mocha.reporters.Base.consoleLog = (...line: unknown[]) => appendFileSync(report, `${format(...line)}\n`);
  const mocha = new Mocha({ ui: "bdd", color: false, timeout: 120_000 });
  const folder = import.meta.dirname;
  for (const file of (await readdir(folder)).sort()) {
    if (file.endsWith(".test.mjs")) mocha.addFile(join(folder, file));
  }
  await mocha.loadFilesAsync();
  const failures = await new Promise<number>((resolve) => {
    mocha.run(resolve);
  });
  if (failures > 0) throw new Error(`${failures} of the tests inside the editor failed`);
}
