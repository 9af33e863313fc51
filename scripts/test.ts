// `npm test`: everything there is to check, part by part, with a count of the tests that ran in each.
import { randomUUID } from "node:crypto";
import { globSync } from "node:fs";
import { availableParallelism } from "node:os";
import { setTimeout as pause } from "node:timers/promises";
import { execa } from "execa";
import { secondsToReset } from "../src/contract/day.ts";
import { builtVariable } from "../test/service/builtVariable.ts";
import { describeProcess, endMarked } from "./process/endMarked.ts";
import { findProcesses } from "./process/findProcesses.ts";
import { projectRoot } from "./projectRoot.ts";

interface Part {
  readonly name: string;
  readonly command: readonly [string, ...string[]];
  /** Whether it runs tests, which are then counted; none at all is a failure. */
  readonly counts: boolean;
}

const mocha = (name: string, ...files: string[]): Part => ({
  name,
  command: ["mocha", ...files.map((file) => `test/${file}.test.ts`)],
  counts: true,
});

/** The same tests, several files at once. */
const inParallel = ({ command: [program, ...args], ...part }: Part, files: number): Part => ({
  ...part,
  command: [program, "--parallel", "--jobs", String(files), ...args],
});

const cores = availableParallelism();

const parts: readonly Part[] = [
  { name: "check", command: ["npm", "run", "--silent", "check"], counts: false },
  { name: "package", command: ["npm", "run", "--silent", "package"], counts: false },
  { name: "package of the tool", command: ["node", "scripts/packageTool.ts"], counts: false },
  mocha("contract", "contract/**/*"),
  mocha("benchmarks' frame", "bench/**/*"),
  inParallel(mocha("pipeline file", "pipeline/**/*"), cores),
  inParallel(mocha("client", "client/**/*"), cores),
  inParallel(mocha("service", "service/*", "service/{store,runLog}/**/*"), cores + 1),
  inParallel(mocha("service, steps and processes", "service/runner/**/*"), cores),
  // The looks at every page take the longest: they begin first, side by side.
  inParallel(mocha("page", "page/look*", "page/!(look*)"), cores),
  mocha("faults", "faults/**/*"),
  // The wait takes its two minutes of doing nothing, so it begins first, and the others run beside it.
  inParallel(mocha("tool", "cli/wait/*", "cli/*"), cores + 1),
  // Half a minute of search, whatever the machine: each target has its share of it.
  inParallel(mocha("fuzz", "fuzz/**/*"), cores),
  mocha("packages", "pack/**/*"),
  // Hundreds of processes of the tool: as many files at once as there are cores keep it short.
  inParallel(mocha("conformance", "conformance/**/*"), cores),
  inParallel(mocha("extension", "extension/**/*"), cores),
  inParallel(mocha("security", "security/**/*"), cores),
  mocha("editor, npm start", "editor/start/**/*"),
  // The VS Code from npm is for Linux; elsewhere a desktop one is downloaded, which has no page to look at.
  ...(process.platform === "linux"
    ? [
        {
          name: "editor, in the host",
          command: ["node", "test/editor/inHost/run.ts"],
          counts: true,
        } as const,
        // Each file has a window, a service and folders of its own. Two wait for most of their time: they begin first, and
        // one more than there are cores has work meanwhile.
        inParallel(
          mocha(
            "editor, on the screen",
            "editor/screen/refusals",
            "editor/screen/windows",
            "editor/screen/!(refusals|windows)",
          ),
          cores + 1,
        ),
      ]
    : [
        {
          name: "editor, in a desktop host",
          command: ["node", "test/editor/inHost/run.ts", "--desktop", "stable"],
          counts: true,
        } as const,
      ]),
];

interface Outcome {
  readonly name: string;
  readonly ok: boolean;
  readonly passed: number;
  readonly failed: number;
  readonly seconds: number;
  /** What mocha says of the tests that failed, or which processes were there when the part had to be ended. */
  readonly report: string;
}

/** No part may take longer than this. */
const longestPartSeconds = 900;

const chosen = process.argv.slice(2);
const unknown = chosen.filter((name) => !parts.some((part) => part.name === name));
if (unknown.length > 0) {
  console.error(
    `There is no part ${unknown.join(", ")}. There are: ${parts.map(({ name }) => name).join(", ")}.`,
  );
  process.exit(1);
}
const forgotten = forgottenFiles();
if (forgotten.length > 0) {
  console.error(`No part of the tests has ${forgotten.join(", ")}: add it to scripts/test.ts.`);
  process.exit(1);
}
const mark = randomUUID();
const outcomes: Outcome[] = [];
for (const part of parts) {
  if (chosen.length > 0 && !chosen.includes(part.name)) continue;
  console.log(`\n── ${part.name}`);
  outcomes.push(await runPart(part));
}

for (const { name, ok, report } of outcomes) {
  if (!ok && outcomes.length > 1) console.log(`\n── ${name}, once more\n${report}`);
}
console.log("");
for (const { name, ok, passed, failed, seconds } of outcomes) {
  const count = passed + failed === 0 ? "" : `${passed} passed${failed > 0 ? `, ${failed} failed` : ""}`;
  console.log(`${ok ? "✔" : "✘"} ${name.padEnd(30)}${`${seconds} s`.padStart(6)}  ${count}`.trimEnd());
}
const sum = (of: "passed" | "failed") => outcomes.reduce((total, outcome) => total + outcome[of], 0);
const broken = outcomes.filter(({ ok, failed }) => !ok && failed === 0).length;
console.log(`\n${sum("passed")} passed, ${sum("failed") + broken} failed`);
process.exitCode = sum("failed") + broken > 0 ? 1 : 0;

async function runPart({ name, command, counts }: Part): Promise<Outcome> {
  if (counts) await awaitLongEnoughDay();
  const began = performance.now();
  const [program, ...args] = command;
  const tooLate = new AbortController();
  const complaints: string[] = [];
  const timer = setTimeout(async () => {
    const alive = await findProcesses({ [markVariable()]: mark });
    complaints.push(
      `${name} did not end within ${longestPartSeconds} s. Then there were:`,
      ...alive.map(describeProcess),
    );
    tooLate.abort();
  }, longestPartSeconds * 1000);
  const { exitCode, stdout } = await execa(program, args, {
    cwd: projectRoot,
    preferLocal: true,
    env: { [markVariable()]: mark, [builtVariable]: isBuilt() ? "1" : undefined },
    stdin: "ignore",
    stdout: ["inherit", "pipe"],
    stderr: "inherit",
    reject: false,
    cancelSignal: tooLate.signal,
    killDescendants: true,
  });
  clearTimeout(timer);
  const leftBehind = await endMarked(markVariable(), mark);
  complaints.push(...leftBehind.map((line) => `${name} left this process behind: ${line}`));
  for (const line of complaints) console.log(line);
  const passed = counted(stdout, "passing");
  const failed = counted(stdout, "failing");
  const report = [...complaints, /^ *\d+ failing$.*/ms.exec(stdout)?.[0].trimEnd() ?? ""].join("\n");
  const ok = exitCode === 0 && (!counts || passed > 0) && leftBehind.length === 0;
  return { name, ok, passed, failed, seconds: Math.round((performance.now() - began) / 1000), report };
}

/** Whether this very run of the tests has made the package, so that what is in `dist/` is what the sources say. */
function isBuilt(): boolean {
  return outcomes.some(({ name, ok }) => name === "package" && ok);
}

/** The test files that no part would run. Those of `editor/inHost` are run inside an editor. */
function forgottenFiles(): string[] {
  const found = (patterns: readonly string[]) =>
    globSync(patterns, { cwd: projectRoot, exclude: ["test/editor/host", "test/editor/inHost"] });
  const inParts = new Set(parts.flatMap(({ command }) => found(command.slice(1))));
  return found(["test/**/*.test.ts"]).filter((file) => !inParts.has(file));
}

/** Tests count the runs of the real day, so none begins when the day is about to end under it. */
async function awaitLongEnoughDay(): Promise<void> {
  const seconds = secondsToReset(Date.now());
  if (seconds > longestPartSeconds) return;
  console.log(`It is ${seconds} s to 00:00 UTC, when counts start again: waiting for the new day.`);
  await pause((seconds + 1) * 1000);
}

/** What mocha's report says at its end. */
function counted(report: string, word: "passing" | "failing"): number {
  return Number(new RegExp(`^\\s*(\\d+) ${word}\\b`, "m").exec(report)?.[1] ?? 0);
}

/** Every process of the tests carries this in its environment, also those that have left their group. */
function markVariable(): string {
  return "PIPELINE_RUNS_TEST_MARK";
}
