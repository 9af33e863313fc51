// `npm test`: everything there is to check. `npm run test:fast`: types, lint and the tests that need no editor, browser or
// package. `npm test -- service cli/run.test.ts`: these folders and files of `test/` only.
import { randomUUID } from "node:crypto";
import { globSync } from "node:fs";
import { availableParallelism } from "node:os";
import { setTimeout as pause } from "node:timers/promises";
import { execa } from "execa";
import { secondsToReset } from "../src/contract/time.ts";
import { postgresFolder } from "../test/postgres/installPostgres.ts";
import { postgresVariable } from "../test/postgres/lentDatabases.ts";
import { StartedPostgres } from "../test/postgres/startedPostgres.ts";
import { builtVariable } from "../test/service/builtVariable.ts";
import { endMarked } from "./process/findProcesses.ts";
import { projectRoot } from "./projectRoot.ts";

interface Outcome {
  readonly name: string;
  readonly ok: boolean;
  readonly passed: number;
  readonly failed: number;
  readonly seconds: number;
  /** What mocha says of the tests that failed, and which processes were left behind. */
  readonly report: string;
}

/** No part may take longer than this. */
const longestPartSeconds = 1200;
/** Every process of the tests carries this in its environment, also those that have left their group. */
const markVariable = "PIPELINE_RUNS_TEST_MARK";
const mark = randomUUID();
const outcomes: Outcome[] = [];
/** What takes the longest begins first, and the others run beside it. */
const longest = [
  "cli/run/wait",
  "editor/inHost.test",
  "editor/screen/",
  "chaos/",
  "page/look",
  "service/runner/",
  "client/embedded/",
];

const words = process.argv.slice(2);
const isFast = words[0] === "--fast";
const chosen = isFast ? [] : words;
const isOnLinux = process.platform === "linux";

// The VS Code from npm is for Linux; elsewhere a desktop one is downloaded, which has no page to look at.
const all = testFiles(
  ["test/**/*.test.ts"],
  ["test/editor/{host,inHost}", ...(isOnLinux ? [] : ["test/editor/screen"])],
);
const fast = testFiles(
  ["test/{bench,client,contract,extension,fuzz,pipeline,service}/**/*.test.ts"],
  ["test/service/runner/browser", "test/service/runner/samples.test.ts"],
);
const wanted = (isFast ? fast : all).filter(isChosen);
if (wanted.length === 0) {
  console.error(`There is no test in ${chosen.map((word) => `test/${word}`).join(", ")}.`);
  process.exit(1);
}

if (chosen.length === 0) await run("check", ["npm", "run", "--silent", "check"]);
if (wanted.every((file) => fast.includes(file))) {
  await run("build", ["npm", "run", "--silent", "build"]);
} else {
  await run("package", ["npm", "run", "--silent", "package"]);
  await run("package of the tool", ["node", "scripts/packageTool.ts"]);
}
const native = postgresFolder();
{
  // One server for the tests of all processes.
  await using postgres =
    native === undefined ? undefined : await StartedPostgres.start(native, AbortSignal.timeout(300_000));
  await run("tests", mochaWords(wanted), true, { [postgresVariable]: postgres?.server });
}

for (const { name, ok, report } of outcomes) if (!ok) console.log(`\n── ${name}, once more\n${report}`);
console.log("");
for (const { name, ok, passed, failed, seconds } of outcomes) {
  const count = passed + failed === 0 ? "" : `${passed} passed${failed > 0 ? `, ${failed} failed` : ""}`;
  console.log(`${ok ? "✔" : "✘"} ${name.padEnd(24)}${`${seconds} s`.padStart(6)}  ${count}`.trimEnd());
}
process.exitCode = outcomes.every(({ ok }) => ok) ? 0 : 1;

/** Several files at once, somewhat more than there are cores, since some only wait; the longest first. */
function mochaWords(files: readonly string[]): [string, ...string[]] {
  const isLong = (file: string) => longest.some((start) => file.startsWith(`test/${start}`));
  const ordered = [...files.filter(isLong), ...files.filter((file) => !isLong(file))];
  return ["mocha", "--parallel", "--jobs", String(Math.round(1.5 * availableParallelism())), ...ordered];
}

async function run(
  name: string,
  [program, ...args]: [string, ...string[]],
  hasTests = false,
  env: Readonly<Record<string, string | undefined>> = {},
): Promise<void> {
  console.log(`\n── ${name}`);
  if (hasTests) await awaitLongEnoughDay();
  const began = performance.now();
  const isBuilt = outcomes.some((outcome) => ["build", "package"].includes(outcome.name) && outcome.ok);
  const { exitCode, stdout, timedOut } = await execa(program, args, {
    cwd: projectRoot,
    preferLocal: true,
    env: { ...env, [markVariable]: mark, [builtVariable]: isBuilt ? "1" : undefined },
    stdin: "ignore",
    stdout: ["inherit", "pipe"],
    stderr: "inherit",
    reject: false,
    timeout: longestPartSeconds * 1000,
  });
  const leftBehind = await endMarked(markVariable, mark);
  const complaints = [
    ...(timedOut ? [`${name} did not end within ${longestPartSeconds} s.`] : []),
    ...leftBehind.map((line) => `${name} left this process behind: ${line}`),
  ];
  for (const line of complaints) console.log(line);
  const passed = counted(stdout, "passing");
  const failed = counted(stdout, "failing");
  outcomes.push({
    name,
    ok: exitCode === 0 && (!hasTests || passed > 0) && complaints.length === 0,
    passed,
    failed,
    seconds: Math.round((performance.now() - began) / 1000),
    report: [...complaints, /^ *\d+ failing$.*/ms.exec(stdout)?.[0].trimEnd() ?? ""].join("\n"),
  });
}

/** Some tests install packages beside them, which may have tests of their own. */
function testFiles(patterns: readonly string[], others: readonly string[]): string[] {
  const exclude = [...others, "**/node_modules"];
  return globSync(patterns, { cwd: projectRoot, exclude }).map((file) => file.replaceAll("\\", "/"));
}

function isChosen(file: string): boolean {
  return (
    chosen.length === 0 ||
    chosen.some((word) => file === `test/${word}` || file.startsWith(`test/${word.replace(/\/$/, "")}/`))
  );
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
