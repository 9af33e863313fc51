// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the references that pipeline files are written with.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { closeSync, constants, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause, setImmediate as turn } from "node:timers/promises";
import type { StepOutput } from "../../../src/runner/launch/messages.ts";
import { Told } from "../../client/told.ts";
import { temporaryFolder } from "../../temporaryFolder.ts";
import { holdBeacon, makeBeacon } from "../beacon.ts";
import { type LaunchChanges, launchTestRun, pipelineOf, shellPipeline } from "../launch/launchTestRun.ts";

const KiB = 1024;

describe("the output of a cli step", () => {
  if (process.platform === "win32") return;
  const folder = temporaryFolder();

  it("is told while the program runs, also a prompt without a line's end", async () => {
    const go = makePipe("go");
    const { job, outputs } = watched(
      shellPipeline(`printf 'Go on? '; read answer < '${go}'; echo "$answer"`),
    );
    await until(outputs, (all) => textOf(all, "stdout") === "Go on? ");
    await answer(go, "yes");
    assert.deepEqual(await job.ended, { kind: "succeeded" });
    assert.equal(textOf(outputs.all, "stdout"), "Go on? yes\n");
  });

  it("keeps standard output and standard error apart, in the order in which they came", async () => {
    // One pipe for each answer: of one for both, the script might find the first answer's end before the second begins.
    const [first, second] = [makePipe("first"), makePipe("second")];
    const script = `echo one\nread x < '${first}'\necho two >&2\nread x < '${second}'\necho three`;
    const { job, outputs } = watched(shellPipeline(script));
    await until(outputs, (all) => textOf(all, "stdout", "stderr") === "one\n");
    await answer(first, "");
    await until(outputs, (all) => textOf(all, "stdout", "stderr") === "one\ntwo\n");
    await answer(second, "");
    await job.ended;
    assert.deepEqual(
      outputs.all.map(({ stream, text }) => `${stream}: ${text.replace(/after .*/s, "after")}`),
      [
        `note: $ echo one … (5 lines)\n`,
        "stdout: one\n",
        "stderr: two\n",
        "stdout: three\n",
        "note: exited with 0 after",
      ],
    );
  });

  it("shows what is no UTF-8 as U+FFFD, and a letter whole that came in two pieces", async () => {
    const go = makePipe("go");
    const script = `printf 'a\\377b\\303'; read x < '${go}'; printf '\\244c\\000d\\303'`;
    const { job, outputs } = watched(shellPipeline(script));
    await until(outputs, (all) => textOf(all, "stdout") === "a\ufffdb");
    await answer(go, "");
    await job.ended;
    assert.equal(textOf(outputs.all, "stdout"), "a\ufffdb\u00e4c\u0000d\ufffd");
  });

  it("never shows a secret, not even the half that a program leaves standing for a while", async () => {
    const go = makePipe("go");
    const pipeline = pipelineOf({
      resources: { sh: { type: "cli", env: { TOKEN: "${{ env.TOKEN }}" } } },
      steps: [{ use: "sh", run: `printf 'token: secret-'; read x < '${go}'; printf 'value!'` }],
    });
    const env = { PATH: process.env["PATH"], TOKEN: "secret-value" };
    const { job, outputs } = watched(pipeline, { env });
    await until(outputs, (all) => textOf(all, "stdout") === "token: ");
    await answer(go, "");
    await job.ended;
    assert.equal(textOf(outputs.all, "stdout"), "token: ***!");
  });

  it("never shows the beginning of a secret in which a program was ended", async () => {
    const pipeline = pipelineOf({
      resources: { sh: { type: "cli", env: { TOKEN: "${{ env.TOKEN }}" } } },
      steps: [{ use: "sh", run: "printf 'token: secret-val'; kill -9 $$" }],
    });
    const { job, outputs } = watched(pipeline, { env: { PATH: process.env["PATH"], TOKEN: "secret-value" } });
    const end = await job.ended;
    assert.equal(textOf(outputs.all, "stdout"), "token: ***");
    assert.match(JSON.stringify(end), /SIGKILL:\\ntoken: \*\*\*"/);
  });

  it("goes to the step that began it when it comes from the background, until the run ends", async () => {
    const go = makePipe("go");
    const beacon = makeBeacon(folder.path);
    const background = `trap 'echo last words; exit' TERM; read x < '${go}'; echo late; ${holdBeacon(beacon)}; while :; do sleep 0.05; done`;
    const waits = "while ! test -e heard; do sleep 0.05; done";
    const { job, outputs } = watched(
      shellPipeline(`sh -c '${background.replaceAll("'", `'\\''`)}' &\necho first`, waits),
    );
    await until(outputs, (all) => all.some(({ index }) => index === 1));
    await answer(go, "");
    await until(outputs, (all) => textOf(all, "stdout") === "first\nlate\n");
    await beacon.pids(1);
    execFileSync("touch", [join(folder.path, "heard")]);
    assert.deepEqual(await job.ended, { kind: "succeeded" });
    const said = outputs.all.filter(({ stream }) => stream === "stdout");
    assert.equal(said.map(({ text }) => text).join(""), "first\nlate\nlast words\n");
    assert.deepEqual([...new Set(said.map(({ index }) => index))], [0]);
    assert.equal(outputs.all.findLast(({ stream }) => stream === "stdout")?.index, 0);
  });

  it("is kept up to a step's end when the run is cancelled", async () => {
    const { job, outputs } = watched(shellPipeline("echo before; sleep 1000"));
    await until(outputs, (all) => textOf(all, "stdout") === "before\n");
    job.stop();
    await job.ended;
    assert.equal(textOf(outputs.all, "stdout"), "before\n");
  });

  it("is kept at its beginning and its end when it is too long, with a note of what is left out", async () => {
    const bytes = 300_000_000;
    const { job, outputs } = watched(
      shellPipeline(`echo begin; head -c ${bytes} /dev/zero | tr '\\0' x; echo; echo end`),
    );
    assert.deepEqual(await job.ended, { kind: "succeeded" });
    const said = textOf(outputs.all, "stdout");
    assert.ok(said.startsWith("begin\nx"));
    assert.ok(said.endsWith("x\nend\n"));
    assert.ok(said.length <= (4 * KiB + 64) * KiB, String(said.length));
    assert.ok(said.length > 4_000_000, String(said.length));
    const cut = outputs.all.findIndex(({ stream, text }) => stream === "note" && /left out/.test(text));
    const left = /^… (\d+) bytes are left out here/.exec(outputs.all[cut]?.text ?? "")?.[1];
    // The note stands where they were; the program's own end is behind it.
    const all = bytes + "begin\n".length + "\nend\n".length + (outputs.all.at(-1)?.text.length ?? 0);
    const end = outputs.all.slice(cut + 1);
    assert.equal(said.length + (end.at(-1)?.text.length ?? 0) + Number(left), all);
    assert.match(end.at(-1)?.text ?? "", /^exited with 0 after/);
    assert.ok(outputs.all.length < 600, `${outputs.all.length} messages`);
  });

  it("takes no more than its share of a run with many loud steps", async () => {
    const loud = Array.from({ length: 6 }, () => "head -c 5000000 /dev/zero | tr '\\0' x; echo end");
    const { job, outputs } = watched(shellPipeline(...loud));
    assert.deepEqual(await job.ended, { kind: "succeeded" });
    const stored = outputs.all.reduce((sum, output) => sum + JSON.stringify(output.text).length, 0);
    assert.ok(stored < 17 * KiB * KiB, String(stored));
    assert.ok(stored > 15 * KiB * KiB, String(stored));
    assert.match(
      textOf(
        outputs.all.filter(({ index }) => index === 5),
        "note",
      ),
      /the run's log is full/,
    );
    assert.match(
      textOf(
        outputs.all.filter(({ index }) => index === 5),
        "stdout",
      ),
      /^x{1,4096}end\n$/,
    );
  });

  it("costs no more when it comes letter by letter", async () => {
    const program = "for (let i = 0; i < 20000; i++) require('node:fs').writeSync(1, 'x')";
    const pipeline = pipelineOf({
      resources: { sh: { type: "cli" } },
      steps: [{ use: "sh", run: [process.execPath, "-e", program] }],
    });
    const { job, outputs } = watched(pipeline);
    assert.deepEqual(await job.ended, { kind: "succeeded" });
    assert.equal(textOf(outputs.all, "stdout").length, 20_000);
    assert.ok(outputs.all.length < 2000, `${outputs.all.length} messages`);
  });

  function watched(pipeline: Parameters<typeof launchTestRun>[1], changes: LaunchChanges = {}) {
    const outputs = new Told<StepOutput>();
    const { job } = launchTestRun(folder.path, pipeline, { ...changes, onOutput: outputs.tell });
    return { job, outputs };
  }

  /** A named pipe on which a program waits for its answer. */
  function makePipe(name: string): string {
    const path = join(folder.path, name);
    execFileSync("mkfifo", [path]);
    return path;
  }
});

/**
 * Lets a program go on that reads a line from the pipe. It is opened without waiting for a reader: no time limit of a test
 * ends such a wait.
 */
async function answer(path: string, line: string): Promise<void> {
  while (!tryAnswer(path, line)) await pause(10);
}

/** @returns false where nobody reads yet. */
function tryAnswer(path: string, line: string): boolean {
  let pipe: number;
  try {
    pipe = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENXIO") return false;
    throw error;
  }
  writeSync(pipe, `${line}\n`);
  closeSync(pipe);
  return true;
}

async function until(
  outputs: Told<StepOutput>,
  condition: (all: readonly StepOutput[]) => boolean,
): Promise<void> {
  while (!condition(outputs.all)) {
    await outputs.atLeast(outputs.all.length + 1);
    await turn();
  }
}

function textOf(outputs: readonly StepOutput[], ...streams: StepOutput["stream"][]): string {
  return outputs
    .filter(({ stream }) => streams.includes(stream))
    .map(({ text }) => text)
    .join("");
}
