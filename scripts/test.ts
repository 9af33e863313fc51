// `npm test`: check, and what tells whether a change is right. `npm run test:long`: the rest, which lies in `test/long`.
// `npm test -- service cli/run.test.ts`: these folders and files of `test/` only, and no check.
import { randomUUID } from "node:crypto";
import { globSync } from "node:fs";
import { chmod } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { execa } from "execa";
import { secondsToReset } from "../src/contract/limits.ts";
import { clockOff } from "../test/clock/preload.ts";
import { browserVariable, sharedBrowser } from "../test/editor/served/launchBrowser.ts";
import { postgresFolder } from "../test/postgres/installPostgres.ts";
import { postgresVariable } from "../test/postgres/lentDatabases.ts";
import { startedPostgres } from "../test/postgres/startedPostgres.ts";
import { builtVariable } from "../test/service/programs.ts";
import { TemporaryFolder } from "../test/temporaryFolder.ts";
import { endMarked } from "./process/findProcesses.ts";
import { projectRoot } from "./projectRoot.ts";

interface Outcome {
  readonly name: string;
  readonly ok: boolean;
  /** What mocha counted. */
  readonly count: string;
  readonly seconds: number;
  /** What failed, and what was left behind. */
  readonly report: string;
}

/** No part may take longer than this. */
const longestPartSeconds = 1800;
/** Every process of the tests carries this in its environment, also those that have left their group: a service keeps its kind. */
const markVariable = "XDG_PIPELINE_RUNS_TEST_MARK";

const words = process.argv.slice(2);
const isLong = words[0] === "--long";
const chosen = isLong ? [] : words;

const files = testFiles().filter(isWanted);
if (files.length === 0) {
  console.error(`There is no test in ${chosen.map((word) => `test/${word}`).join(", ")}.`);
  process.exit(1);
}
const outcomes: Outcome[] = [];
const needsPackages = files.some((file) => file.startsWith("test/long/"));
outcomes.push(await run("build", ["npm", "run", "--silent", needsPackages ? "package" : "build"]));
if (needsPackages) outcomes.push(await run("package of the tool", ["node", "scripts/packageTool.ts"]));
{
  await using held = new AsyncDisposableStack();
  const signal = AbortSignal.timeout(300_000);
  // One PostgreSQL and one browser for the tests of all processes, and a folder in which only they leave something.
  const native = postgresFolder();
  const postgres = native === undefined ? undefined : held.use(await startedPostgres(native, signal));
  const browser = files.some(isOnScreen) ? held.use(await sharedBrowser(signal)) : undefined;
  const temporary = held.use(await TemporaryFolder.make("pipeline-runs-tests"));
  // As the system's own: some tests run programs as another user.
  await chmod(temporary.path, 0o1777);
  const env = {
    ...dayLongEnough(),
    [postgresVariable]: postgres?.server,
    [browserVariable]: browser?.wsEndpoint(),
    [builtVariable]: outcomes.every(({ ok }) => ok) ? "1" : undefined,
    TMPDIR: temporary.path,
  };
  const isChecked = !isLong && chosen.length === 0;
  outcomes.push(
    ...(await Promise.all([
      run("tests", mochaWords(files), env),
      ...(isChecked ? [run("check", ["npm", "run", "--silent", "check"])] : []),
    ])),
  );
}

for (const { name, ok, report } of outcomes) if (!ok) console.log(`\n── ${name}, once more\n${report}`);
console.log("");
for (const { name, ok, count, seconds } of outcomes) {
  console.log(`${ok ? "✔" : "✘"} ${name.padEnd(24)}${`${seconds} s`.padStart(6)}  ${count}`.trimEnd());
}
process.exitCode = outcomes.every(({ ok }) => ok) ? 0 : 1;

/** Twice as many files at once as there are cores, since many wait; those with a window or long waits first, which take longest. */
function mochaWords(wanted: readonly string[]): [string, ...string[]] {
  const takesLong = (file: string) => /\/(editor|chaos)\/[^/]*$|\/waitRealTime/.test(file);
  const ordered = [...wanted.filter(takesLong), ...wanted.filter((file) => !takesLong(file))];
  return ["mocha", "--parallel", "--jobs", String(2 * availableParallelism()), ...ordered];
}

/** @param env that of tests; without it, nothing of the program's output shows until its end. */
async function run(
  name: string,
  [program, ...args]: [string, ...string[]],
  env?: Readonly<Record<string, string | undefined>>,
): Promise<Outcome> {
  const began = performance.now();
  const mark = randomUUID();
  const { exitCode, all, stdout, timedOut } = await execa(program, args, {
    cwd: projectRoot,
    preferLocal: true,
    env: { ...env, [markVariable]: mark },
    stdin: "ignore",
    stdout: env === undefined ? "pipe" : ["inherit", "pipe"],
    stderr: env === undefined ? "pipe" : "inherit",
    all: true,
    reject: false,
    timeout: longestPartSeconds * 1000,
  });
  const leftBehind = await endMarked(markVariable, mark);
  const complaints = [
    ...(timedOut ? [`${name} did not end within ${longestPartSeconds} s.`] : []),
    ...leftBehind.map((line) => `${name} left this process behind: ${line}`),
  ];
  const counted = (word: string) => Number(new RegExp(`^\\s*(\\d+) ${word}\\b`, "m").exec(stdout)?.[1] ?? 0);
  const [passed, failed] = [counted("passing"), counted("failing")];
  const failures = env === undefined ? all : /^ *\d+ failing$.*/ms.exec(stdout)?.[0];
  return {
    name,
    ok: exitCode === 0 && (env === undefined || passed > 0) && complaints.length === 0,
    count: env === undefined ? "" : `${passed} passed, ${failed} failed`,
    seconds: Math.round((performance.now() - began) / 1000),
    report: [...complaints, failures?.trimEnd() ?? ""].join("\n"),
  };
}

/**
 * Some tests install packages beside them, which may have tests of their own; those in VS Code's host are run there. The
 * VS Code from npm, whose screen tests look at, is for Linux.
 */
function testFiles(): string[] {
  const onScreen = ["test/editor/mainJob.test.ts", "test/long/editor/{foreign,npmStart,ownService}.test.ts"];
  const isOnLinux = process.platform === "linux";
  const exclude = ["test/editor/{host,inHost}", "**/node_modules", ...(isOnLinux ? [] : onScreen)];
  return globSync("test/**/*.test.ts", { cwd: projectRoot, exclude }).map((file) =>
    file.replaceAll("\\", "/"),
  );
}

function isOnScreen(file: string): boolean {
  return /^test\/(page|editor|long)\//.test(file);
}

function isWanted(file: string): boolean {
  if (chosen.length === 0) return file.startsWith("test/long/") === isLong;
  return chosen.some(
    (word) => file === `test/${word}` || file.startsWith(`test/${word.replace(/\/$/, "")}/`),
  );
}

/** Tests count the runs of a day: where it is about to end under them, all their processes live six hours earlier. */
function dayLongEnough(): Record<string, string> {
  return secondsToReset(Date.now()) > longestPartSeconds ? {} : clockOff(-6);
}
