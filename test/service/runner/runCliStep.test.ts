import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { CliStep } from "../../../src/pipeline/types/cli.ts";
import { Mask } from "../../../src/service/runner/mask.ts";
import { commandOf, runCliStep } from "../../../src/service/runner/runCliStep.ts";
import type { StepContext, StepOutcome } from "../../../src/service/runner/stepContext.ts";
import { isAlive } from "../../isAlive.ts";
import { temporaryFolder } from "../../temporaryFolder.ts";
import { holdBeacon, makeBeacon } from "./beacon.ts";
import { pipelineOf } from "./launchTestRun.ts";
import { stepContextFor } from "./stepContextFor.ts";

describe("a cli step", function () {
  this.timeout(60_000);
  if (process.platform === "win32") return;
  const folder = temporaryFolder();

  it("gives a line to the shell, and a list straight to the program", async () => {
    assert.deepEqual(await run({ run: "echo $((1 + 1)) | grep -q 2" }), { kind: "succeeded" });
    assert.equal(
      message(await run({ run: ["echo", "$HOME | *"], expect: { "exit-code": 1 } })),
      "exited with 0, expected 1:\n$HOME | *",
    );
  });

  it("notes which node a step gets that runs it by name", async () => {
    for (const [commands, isNoted] of [
      ["cd .\nnode --version", true],
      ["A=1 node -p 1 | cat", true],
      [["node", "--version"], true],
      ["echo no node.js here", false],
      [["echo", "node"], false],
    ] as const) {
      const { stepContext, logged } = stepContextFor(folder.path, { node: "/opt/node/bin/node" });
      await runCliStep(stepOf({ run: commands }), stepContext);
      assert.equal(logged().includes("# node is /opt/node/bin/node\n"), isNoted, String(commands));
    }
  });

  it("is over at the first line that fails", async () => {
    assert.equal(
      message(await run({ run: "echo before\nfalse\necho after" })),
      "exited with 1, expected 0:\nbefore",
    );
  });

  it("may expect a program to fail", async () => {
    assert.deepEqual(await run({ run: "exit 7", expect: { "exit-code": 7 } }), { kind: "succeeded" });
  });

  it("says so when the program printed nothing", async () => {
    assert.equal(message(await run({ run: "exit 1" })), "exited with 1, expected 0; it printed nothing");
  });

  it("names the signal that ended the program", async () => {
    assert.equal(message(await run({ run: "echo x; kill -SEGV $$" })), "was ended by SIGSEGV:\nx");
  });

  it("runs in its folder, with its environment, and with no input", async () => {
    mkdirSync(join(folder.path, "app"));
    const step = { run: "test \"$(cat)\" = ''; pwd; echo $A; exit 1", cwd: "app", env: { A: "b c" } };
    assert.equal(message(await run(step)), `exited with 1, expected 0:\n${folder.path}/app\nb c`);
  });

  it("keeps the run's marker whatever the step sets", async () => {
    const outcome = await run({
      run: "echo $PIPELINE_RUN_ID; exit 1",
      env: { PIPELINE_RUN_ID: "run_other" },
    });
    assert.match(message(outcome), /:\nrun_[0-9a-f-]{36}$/);
  });

  it("finds what it expects in the output, standard error and everything before the last lines included", async () => {
    const long = "seq 1 2000";
    assert.deepEqual(await run({ run: `echo needle >&2; ${long}`, expect: { output: "needle" } }), {
      kind: "succeeded",
    });
    assert.deepEqual(await run({ run: `echo a needle; ${long}`, expect: { output: "/^a NEEDLE$/i" } }), {
      kind: "succeeded",
    });
    assert.deepEqual(await run({ run: "printf 'no line end'", expect: { output: "/end$/" } }), {
      kind: "succeeded",
    });
    assert.equal(
      message(await run({ run: "echo hay", expect: { output: "needle" } })),
      "exited with 0, but expected `needle` in the output:\nhay",
    );
  });

  it("shows the last twenty lines and no more than 4 KiB", async () => {
    const lines = message(await run({ run: "seq 1 100; exit 1" })).split("\n");
    assert.deepEqual([lines.length, lines[1], lines.at(-1)], [21, "81", "100"]);
    const wide = message(await run({ run: "head -c 100000 /dev/zero | tr '\\0' x; exit 1" }));
    assert.ok(wide.length < 4200);
  });

  it("shows bytes that are no text as replacement characters, and no control character", async () => {
    const outcome = message(
      await run({ run: "printf 'a\\377\\000b\\033[31mred\\033[0m 10%%\\r20%%\\n'; exit 1" }),
    );
    assert.equal(outcome, "exited with 1, expected 0:\n20%");
    const binary = message(await run({ run: "head -c 3000 /dev/urandom; exit 1" }));
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there.
    assert.doesNotMatch(binary, /[\u0000-\u0008\u000b-\u001f\u007f]/);
  });

  it("reads an output of 300 MB without keeping it", async () => {
    const before = process.memoryUsage.rss();
    const outcome = await run({
      run: "head -c 300000000 /dev/zero; echo the end",
      expect: { output: "the end" },
    });
    assert.deepEqual(outcome, { kind: "succeeded" });
    assert.ok(process.memoryUsage.rss() - before < 150_000_000);
  });

  it("masks a secret that comes in pieces, and one that the cut of the message goes through", async () => {
    const mask = new Mask(["correct horse"]);
    const pieces = "for c in c o r r e c t; do printf $c; done; echo ' horse'; exit 1";
    assert.equal(message(await run({ run: pieces }, { mask })), "exited with 1, expected 0:\n***");
    const cut = message(
      await run(
        { run: "i=0; while [ $i -lt 900 ]; do printf 'correct horse'; i=$((i+1)); done; exit 1" },
        { mask },
      ),
    );
    assert.doesNotMatch(cut, /correct|horse|rse/);
  });

  it("is over when its shell is, though a program in the background holds its output open", async () => {
    const beacon = makeBeacon(folder.path);
    const { stepContext, end } = stepContextFor(folder.path);
    const [step] = pipelineOf({
      resources: { sh: { type: "cli" } },
      steps: [
        {
          use: "sh",
          run: `${holdBeacon(beacon)}\nsh -c 'echo $$ >&9; exec sleep 1000' &\necho done`,
          expect: { output: "done" },
        },
      ],
    }).steps;
    assert.ok(step?.type === "cli");
    assert.deepEqual(await runCliStep(step, stepContext), { kind: "succeeded" });
    const [, background = 0] = await beacon.pids(2);
    assert.ok(isAlive(background));
    await end();
    assert.equal(isAlive(background), false);
    await beacon.dark;
  });

  it("is over although a program in the background never stops talking", async () => {
    const { stepContext, end } = stepContextFor(folder.path);
    const [step] = pipelineOf({
      resources: { sh: { type: "cli" } },
      steps: [{ use: "sh", run: "yes & echo done" }],
    }).steps;
    assert.ok(step?.type === "cli");
    assert.deepEqual(await runCliStep(step, stepContext), { kind: "succeeded" });
    await end();
  });

  it("says in plain words why a program can't be started", async () => {
    writeFileSync(join(folder.path, "plain.txt"), "");
    mkdirSync(join(folder.path, "folder"));
    assert.equal(
      message(await run({ run: ["no-such-program-here"] })),
      "there is no program `no-such-program-here` on the PATH",
    );
    assert.equal(message(await run({ run: ["./none"] })), "there is no program `./none`");
    assert.equal(message(await run({ run: ["./plain.txt"] })), "`./plain.txt` may not be executed");
    assert.equal(
      message(await run({ run: "true", cwd: "gone" })),
      `the step's folder, ${folder.path}/gone, doesn't exist`,
    );
    assert.equal(
      message(await run({ run: "true", cwd: "plain.txt" })),
      `the step's folder, ${folder.path}/plain.txt, is no folder`,
    );
    assert.match(
      message(await run({ run: ["echo"] }, { environment: { BIG: "x".repeat(3_000_000) } })),
      /arguments and environment are too large/,
    );
    assert.match(
      message(await run({ run: "no-such-program-here" })),
      /^exited with 127, expected 0:\n.*not found/,
    );
  });

  it("starts nothing once the run is to end", async () => {
    const outcome = await run({ run: "touch started" }, { signal: AbortSignal.abort() });
    assert.equal(message(outcome), "the run was ended before this step began");
  });

  async function run(file: object, changes: Partial<StepContext> = {}): Promise<StepOutcome> {
    return runCliStep(stepOf(file), stepContextFor(folder.path, changes).stepContext);
  }

  function stepOf(file: object): CliStep {
    const [step] = pipelineOf({ resources: { sh: { type: "cli" } }, steps: [{ use: "sh", ...file }] }).steps;
    return step?.type === "cli" ? step : assert.fail("no cli step");
  }
});

function message(outcome: StepOutcome): string {
  return outcome.kind === "failed" ? outcome.message : assert.fail("the step succeeded");
}

describe("a cli step's command", () => {
  it("is for sh one script that stops at the first failure, and for cmd.exe lines joined so", () => {
    assert.deepEqual(commandOf("a\nb", "linux"), {
      file: "/bin/sh",
      words: ["-e", "-c", "a\nb"],
      shell: false,
    });
    assert.deepEqual(commandOf("a\r\n\n b\n", "win32"), { file: "a &&  b", words: [], shell: true });
    assert.deepEqual(commandOf(["a", "b c"], "win32"), { file: "a", words: ["b c"], shell: false });
  });
});
