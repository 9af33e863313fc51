// `npm run fuzz`: searches for inputs that break what has to be true of each target.

import { readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { parseArgs } from "node:util";
import { projectRoot } from "../../scripts/projectRoot.ts";
import { keepInput, readCorpus } from "./engine/corpusFolder.ts";
import { inputOf } from "./engine/corpusText.ts";
import { searchGuarded } from "./engine/searchGuarded.ts";
import { loadTarget, targetNames } from "./targets.ts";

const usage = `npm run fuzz -- [--seconds <n> a target] [--seed <n>] [--replay <file>] [target…]
Targets: ${targetNames.join(", ")}`;

const { values, positionals } = readWords();
const unknown = positionals.filter((name) => !targetNames.includes(name));
if (unknown.length > 0) end(`There is no target ${unknown.join(", ")}.\n${usage}`, 2);
const chosen = positionals.length > 0 ? positionals : targetNames;
if (values.replay !== undefined) await replay(values.replay, chosen);
else await searchAll();

async function searchAll(): Promise<void> {
  const seed = wholeNumber("seed", values.seed, Date.now() % 2 ** 31);
  const seconds = wholeNumber("seconds", values.seconds, 10);
  const stop = new AbortController();
  process.once("SIGINT", () => stop.abort(new Error("interrupted")));
  let inputs = 0;
  let findings = 0;
  console.log(
    `${"target".padEnd(18)}${"inputs".padStart(10)}${"reached".padStart(10)}${"new".padStart(8)}${"findings".padStart(10)}`,
  );
  for (const target of chosen) {
    const kept = readCorpus(join(import.meta.dirname, "corpus", target)).map(({ input }) => input);
    const report = await searchGuarded({ target, kept, seed, seconds }, stop.signal);
    inputs += report.inputs;
    findings += report.findings.length;
    const cells = [report.inputs, report.reached, report.reached - report.reachedBefore];
    console.log(
      `${target.padEnd(18)}${String(cells[0]).padStart(10)}${String(cells[1]).padStart(10)}${String(cells[2]).padStart(8)}${String(report.findings.length).padStart(10)}`,
    );
    for (const { signature, message, input } of report.findings) {
      const file = relative(projectRoot, keepInput(join(projectRoot, "test-results/fuzz", target), input));
      console.log(
        `\n  ${signature}\n${message.replaceAll(/^/gm, "    ")}\n  again: npm run fuzz -- --replay ${file} ${target}\n`,
      );
    }
  }
  console.log(
    `\n${findings} findings in ${inputs} inputs of ${chosen.length} targets, seed ${seed}, ${seconds} s each`,
  );
  process.exitCode = findings > 0 ? 1 : 0;
}

async function replay(file: string, [name, ...others]: readonly string[]): Promise<void> {
  if (name === undefined || others.length > 0)
    return end(`Say of which target ${file} is an input.\n${usage}`, 2);
  const target = await loadTarget(name);
  const checker = await target.open();
  try {
    await checker.check(inputOf(file, readFileSync(file, "utf8")));
    console.log(`${file} breaks nothing: ${target.property}`);
  } catch (error) {
    console.log(error);
    process.exitCode = 1;
  } finally {
    await checker.close?.();
  }
}

function readWords() {
  try {
    return parseArgs({
      options: { seconds: { type: "string" }, seed: { type: "string" }, replay: { type: "string" } },
      allowPositionals: true,
    });
  } catch (error) {
    return end(`${error instanceof Error ? error.message : String(error)}\n${usage}`, 2);
  }
}

function wholeNumber(name: string, text: string | undefined, byDefault: number): number {
  if (text === undefined) return byDefault;
  return /^\d{1,9}$/.test(text) ? Number(text) : end(`--${name} takes a whole number.\n${usage}`, 2);
}

function end(message: string, code: number): never {
  console.error(message);
  process.exit(code);
}
