// biome-ignore-all lint/suspicious/noTemplateCurlyInString: a shell's own.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { CliStep } from "../../../src/pipeline/types/cli.ts";
import { commandOf } from "../../../src/runner/cli/command.ts";
import { runCliStep } from "../../../src/runner/cli/runCliStep.ts";
import { Mask } from "../../../src/runner/mask/mask.ts";
import { runMarker } from "../../../src/runner/processes/processTable.ts";
import { removeScratch } from "../../../src/runner/processes/scratchFolder.ts";
import type { StepContext, StepOutcome } from "../../../src/runner/step/stepContext.ts";
import { isAlive } from "../../isAlive.ts";
import { temporaryFolder } from "../../temporaryFolder.ts";
import { holdBeacon, makeBeacon } from "../beacon.ts";
import { pipelineOf } from "../launch/launchTestRun.ts";
import { stepContextFor } from "../step/stepContextFor.ts";

describe("a cli step", () => {
  if (process.platform === "win32") return;
  const folder = temporaryFolder();
  const runIds: string[] = [];
  afterEach(() => Promise.all(runIds.splice(0).map(removeScratch)));

  it("gives a line to the shell, and a list straight to the program", async () => {
    assert.deepEqual(await run({ run: "echo $((1 + 1)) | grep -q 2" }), { kind: "succeeded" });
    assert.equal(
      message(await run({ run: ["echo", "$HOME | *"], expect: { "exit-code": 1 } })),
      "exited with 0, expected 1:\n$HOME | *",
    );
  });

  it("runs a text in the shell that its first line, the step or the resource names", async () => {
    const bash = "[[ $BASH_VERSION == *.* ]] && shopt -oq posix && echo posix; echo {a,b}.txt";
    for (const step of [
      { run: `#!/usr/bin/env bash\n${bash}` },
      { run: `#! /bin/bash \r\n${bash}\r\n` },
      { run: bash, shell: "bash" },
    ]) {
      const outcome = await run({ ...step, expect: { output: "/^a.txt b.txt$/" } });
      assert.deepEqual(outcome, { kind: "succeeded" });
    }
    const node = `#!${process.execPath}\nconsole.log(process.argv.length, [1, 2].at(-1))`;
    assert.deepEqual(await run({ run: node, expect: { output: "2 2" } }), { kind: "succeeded" });
    const guard =
      '#!/bin/bash\nif [[ $STAGE == production ]]; then echo "not here"; exit 1; fi\necho removed';
    assert.equal(
      message(await run({ run: guard, env: { STAGE: "production" } })),
      "exited with 1, expected 0:\nnot here",
    );
    assert.equal(
      message(await run({ run: "#!/nowhere/sh -e\necho hi" })),
      "there is no program `/nowhere/sh`",
    );
  });

  it("lets a program open its outputs by their names, as in a shell", async () => {
    const said = await run({
      run: "echo told > /dev/stdout; echo warned | tee /dev/stderr",
      expect: { stdout: ["told", "warned"], stderr: "warned" },
    });
    assert.deepEqual(said, { kind: "succeeded" });
  });

  it("fails with each program of a pipe, unless its shell is said to be sh", async () => {
    const tests = "(echo '1 failed'; exit 3) | cat";
    for (const step of [
      { run: tests },
      { run: tests, shell: "bash" },
      { run: `set -o pipefail\n${tests}` },
    ]) {
      assert.equal(message(await run(step)), "exited with 3, expected 0:\n1 failed");
    }
    assert.deepEqual(await run({ run: tests, shell: "sh" }), { kind: "succeeded" });
    assert.deepEqual(
      await run({ run: "printf 'a\\n' | grep -q a || exit 4; echo \"$0\"", expect: { output: "sh" } }),
      { kind: "succeeded" },
    );
    assert.match(
      message(await run({ run: "yes | head -n 1" })),
      /^exited with 141, expected 0 \(a program before a pipe was ended/,
    );
  });

  it("names the interpreter that a script lacks, and the line ends of Windows", async () => {
    const write = (name: string, text: string) =>
      writeFileSync(join(folder.path, name), text, { mode: 0o755 });
    write("windows.sh", "#!/bin/sh\r\necho hi\r\n");
    write("report.py", "#!/nowhere/python9 -u\n");
    const path = (name: string) => join(folder.path, name);
    assert.equal(
      message(await run({ run: ["report.py"], env: { PATH: folder.path } })),
      `the interpreter \`/nowhere/python9\` that \`${path("report.py")}\` names in its first line isn't there`,
    );
    writeFileSync(path("closed.sh"), "#!/bin/sh\n", { mode: 0o644 });
    assert.equal(message(await run({ run: ["./closed.sh"] })), "`./closed.sh` may not be executed");
    assert.equal(message(await run({ run: ["closed.sh"] })), "there is no program `closed.sh` on the PATH");
    assert.equal(
      message(await run({ run: ["./windows.sh"] })),
      `\`${path("windows.sh")}\` has Windows line ends (CRLF), so what its first line names isn't found: save it with LF`,
    );
    assert.equal(
      message(await run({ run: ["./report.py"] })),
      `the interpreter \`/nowhere/python9\` that \`${path("report.py")}\` names in its first line isn't there`,
    );
  });

  it("says the same of a script that a shell can't run, which says that it isn't there", async () => {
    const write = (name: string, text: string) =>
      writeFileSync(join(folder.path, name), text, { mode: 0o755 });
    write("windows.sh", "#!/bin/sh\r\necho hi\r\n");
    write("env.sh", "#!/usr/bin/env bash\r\necho hi\r\n");
    write("lost.py", "#!/nowhere/python9\n");
    write("fine.sh", "#!/bin/sh\necho hi\n");
    write("calls.sh", "#!/bin/sh\nset -e\nno-such-program\n");
    writeFileSync(join(folder.path, "closed.sh"), "#!/bin/sh\necho hi\n", { mode: 0o644 });
    // The loader is named in the program, where it is one for Linux.
    const shell = readFileSync("/bin/sh", "latin1").replaceAll("/ld-", "/no-");
    writeFileSync(join(folder.path, "loader"), shell, { encoding: "latin1", mode: 0o755 });
    for (const [line, says] of [
      ["./fine.sh && ./windows.sh", /^exited with 127, expected 0 \(`.*windows\.sh` has Windows line ends/],
      ["echo hi | cat; ./windows.sh", /\(`.*windows\.sh` has Windows line ends/],
      ["./env.sh", /\(`.*env\.sh` has Windows line ends/],
      ["./lost.py", /\(the interpreter `\/nowhere\/python9` that `.*lost\.py` names/],
      ["./fine.sh; nowhere/nothing", /^exited with 127, expected 0:\n/],
      ["./closed.sh", /^exited with 126, expected 0:\n/],
      ["./calls.sh", /^exited with 127, expected 0:\n/],
      ["./loader -c 'exit 127'", /^exited with 127, expected 0[:;]/],
    ] as const)
      assert.match(message(await run({ run: line })), says);
  });

  it("says so where a space that a web page brought is none to a shell", async () => {
    assert.match(
      message(await run({ run: "echo\u00a0hi" })),
      /^exited with 127, expected 0 \(what looks like a space in it is a no-break space/,
    );
    assert.doesNotMatch(message(await run({ run: "no-such-program hi" })), /space/);
  });

  it("passes over no guard that is written for bash", async () => {
    for (const guard of [
      '[[ "$STAGE" == prod* ]]',
      '! [ "$STAGE" == staging ]',
      'test "$STAGE" == production',
      "(( 2 > 1 ))",
    ])
      assert.match(
        message(await run({ run: `if ${guard}; then exit 3; fi`, env: { STAGE: "production" } })),
        /^exited with 3,/,
      );
    writeFileSync(join(folder.path, "settings"), "LAMP=$(false | echo desk)\n");
    for (const [line, output] of [
      ["source settings; echo $LAMP", "desk"],
      ["cp settings 'the source '; test -n \"$BASH_VERSION\" || echo sh", "/^sh$/"],
      ["for number in {1..3}; do echo $number; done", "/^3$/"],
      ["echo quiet &> /dev/null; echo said", "/^said$/"],
      ["echo -e 'desk\\tlamp'", "/^desk\tlamp$/"],
      ["echo dist/{css,js} settings{,.bak}", "dist/css dist/js settings settings.bak"],
      ["printf %s $'desk\\nfloor'", "/^floor$/"],
      [`echo "it's" \\' $# "$(echo {a,b})" # isn't`, "it's ' 0 a b"],
      ["cat <<END; echo {a,b}\nhi\nEND", "a b"],
      ["echo number $RANDOM", "/^number \\d+$/"],
      ['case "$OSTYPE" in ?*) echo known; esac', "known"],
    ])
      assert.deepEqual(await run({ run: line, expect: { output } }), { kind: "succeeded" }, line);
  });

  it("leaves to the system's shell what only looks as if it were for bash", async () => {
    for (const line of [
      "grep -E '^.{1,3}$' settings",
      `echo '{"lamp":"desk","count":2}'`,
      "echo ${LAMP:-desk,floor}",
      "grep 'x$' settings",
      "grep 'x $' settings",
      "echo \\{a,b\\}",
      "grep '{id,name}' settings",
      `echo "{a,b} \\" {1..3}"`,
      "echo hi # isn't {a,b}\n",
      "cat <<END\n{a:1,b:2} isn't\nEND\n",
      "cat <<-'END'\n{a,b}\n\tEND\n",
    ])
      assert.deepEqual(
        await run({
          run: `(${line}) > out || true; test -n "$BASH_VERSION" || echo sh`,
          expect: { output: "/^sh$/" },
        }),
        { kind: "succeeded" },
        line,
      );
  });

  it("takes a text that asks for `pipefail` itself, as scripts do in their first line", async () => {
    const said = await run({ run: "set -euo pipefail\necho said", expect: { output: "/^said$/" } });
    assert.deepEqual(said, { kind: "succeeded" });
    assert.match(message(await run({ run: "set -o pipefail\nfalse |cat" })), /^exited with 1,/);
  });

  it("names bash where the system's shell can't read what is written for it", async () => {
    const isDash = realpathSync("/bin/sh").endsWith("dash");
    for (const line of [
      "lamps=(desk floor)",
      "read lamp <<< floor",
      "cat <(echo wall)",
      "v=lamp; echo ${v^^}",
      "function f { echo; }\nf",
    ]) {
      if (isDash)
        assert.match(message(await run({ run: line })), /; if it is written for bash, say `shell: bash`\)/);
      assert.deepEqual(await run({ run: line, shell: "bash" }), { kind: "succeeded" }, line);
    }
    assert.doesNotMatch(message(await run({ run: "if true; then echo" })), /bash/);
  });

  it("looks for the shell of a pipe on the step's own PATH", async () => {
    const hasPipefail = spawnSync("/bin/sh", ["-o", "pipefail", "-c", ":"]).status === 0;
    writeFileSync(join(folder.path, "bash"), "#!/bin/sh\necho own bash\n", { mode: 0o755 });
    const outcome = await run({
      run: "echo the system | cat",
      env: { PATH: `${folder.path}:/usr/bin:/bin` },
      expect: { output: "/^no$/" },
    });
    assert.match(message(outcome), hasPipefail ? /\nthe system$/ : /\nown bash$/);
  });

  it("finds in its output what a person reads there", async () => {
    for (const [run_, output] of [
      ["printf '\\033[32m5\\033[39m passed, \\033[31m0\\033[39m failed\\n'", "5 passed, 0 failed"],
      ["printf '\\033[1mdone\\033[0m\\n'", "/^done$/"],
      ["printf ' 10%%\\r 60%%\\r100%% ready\\r\\n'", "/^100% ready$/"],
      ["printf 'ze\\342\\200\\213ro\\n'", "zero"],
      ["printf 'one\\r\\ntwo'", "one\ntwo"],
    ]) {
      assert.deepEqual(await run({ run: run_, expect: { output } }), { kind: "succeeded" }, output);
    }
    assert.match(message(await run({ run: "printf ' 10%%\\r100%%\\n'", expect: { output: "10%" } })), /100%/);
  });

  it("looks at a long line as a whole", async () => {
    const program = (code: string) => ({ run: [process.execPath, "-e", code] });
    const line = program("process.stdout.write('{' + 'x'.repeat(300_000) + '}\\n')");
    assert.deepEqual(await run({ ...line, expect: { output: "/^\\{x*\\}$/" } }), { kind: "succeeded" });
    assert.match(
      message(await run({ ...line, expect: { output: "/x$/" } })),
      /expected \/x\$\/ in the output/,
    );
    const longer = program("for (let i = 0; i < 11; i++) process.stdout.write('x'.repeat(2 ** 20))");
    assert.match(
      message(await run({ ...longer, expect: { output: "y" } })).slice(0, 60),
      /expected `y` in the output/,
    );
    await assert.rejects(run({ ...longer, expect: { output: "/y/" } }), /a line of more than 10 MB/);
    const bar = program(
      "for (let i = 0; i < 11; i++) process.stdout.write('x'.repeat(2 ** 20) + '\\r'); console.log('ready')",
    );
    assert.deepEqual(await run({ ...bar, expect: { output: "/^ready$/" } }), { kind: "succeeded" });
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

  it("reads an output of 160 MB without keeping it", async () => {
    const before = process.memoryUsage.rss();
    const outcome = await run({
      run: "head -c 160000000 /dev/zero; echo the end",
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

  it("gives a program its input, whatever that reads of it", async () => {
    const secret = "$(touch hacked) `touch hacked` '; touch hacked";
    assert.deepEqual(
      await run({ run: "cat", stdin: `${secret}\nä`, expect: { stdout: [secret, "/^ä$/"] } }),
      { kind: "succeeded" },
    );
    assert.equal(existsSync(join(folder.path, "hacked")), false);
    assert.deepEqual(await run({ run: ["wc", "-c"], stdin: 1.5, expect: { stdout: "/^ *3$/" } }), {
      kind: "succeeded",
    });
    // An expression may give more than a pipeline file can hold.
    const huge = (file: object) => runCliStep({ ...stepOf(file), stdin: "x".repeat(20_000_000) }, context());
    for (const file of [
      { run: ["wc", "-c"], expect: { stdout: "20000000" } },
      { run: "true" },
      { run: "exec <&-; sleep 0.1" },
    ]) {
      assert.deepEqual(await huge(file), { kind: "succeeded" });
    }
    assert.equal(
      message(await huge({ run: ["head", "-c", "3"], expect: { "exit-code": 1 } })),
      "exited with 0, expected 1:\nxxx",
    );
  });

  it("tells standard output from standard error", async () => {
    const run_ = "echo one; echo two >&2";
    assert.deepEqual(
      await run({ run: run_, expect: { stdout: "one", stderr: "two", output: ["one", "two"] } }),
      {
        kind: "succeeded",
      },
    );
    assert.match(
      message(await run({ run: run_, expect: { stdout: ["two", "/^o/"], stderr: "one", output: "three" } })),
      /^exited with 0, but expected `three` in the output, and `two` in standard output, and `one` in standard error:\n/,
    );
  });

  it("is ended with its programs when it takes longer than its `timeout`", async () => {
    const beacon = makeBeacon(folder.path, "slow");
    const script = `trap '' TERM\n${holdBeacon(beacon)}\necho begun\nsleep 1000 & wait\nsleep 1000`;
    assert.equal(
      message(await run({ run: script, timeout: "300ms" })),
      "wasn't over within 300 ms, its `timeout`:\nbegun",
    );
    await beacon.dark;
    assert.deepEqual(await run({ run: "true", timeout: "1h" }), { kind: "succeeded" });
    assert.match(message(await run({ run: "exit 3", timeout: "1h" })), /^exited with 3, expected 0/);
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
    assert.equal(message(await run({ run: ["./folder"] })), "`./folder` is a folder, and no program");
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
      /arguments and environment are too large; give a long value in `stdin`$/,
    );
    assert.equal(
      message(await run({ run: ["echo"] }, { environment: { ODD: "a\0b" } })),
      "`echo` can't be started: a NUL character is in its arguments or environment",
    );
    assert.match(
      message(await run({ run: "no-such-program-here" })),
      /^exited with 127, expected 0:\n.*not found/,
    );
  });

  it("starts nothing once the run is to end", async () => {
    const ending = new AbortController();
    const outcome = run({ run: "touch started" }, { signal: ending.signal });
    ending.abort();
    assert.equal(message(await outcome), "the run was ended before this step began");
    assert.equal(existsSync(join(folder.path, "started")), false);
  });

  async function run(file: object, changes: Partial<StepContext> = {}): Promise<StepOutcome> {
    return runCliStep(stepOf(file), context(changes));
  }

  function context(changes: Partial<StepContext> = {}): StepContext {
    const { stepContext } = stepContextFor(folder.path, changes);
    runIds.push(stepContext.environment[runMarker] ?? "");
    return stepContext;
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
  it("is the interpreter that a script names, since its file may lie where nothing may be executed", async () => {
    const run = "#!/usr/bin/env bash\necho hi";
    const [step] = pipelineOf({ resources: { sh: { type: "cli" } }, steps: [{ use: "sh", run }] }).steps;
    assert(step?.type === "cli");
    const { file, words } = await commandOf(step, stepContextFor("/").stepContext);
    assert.deepEqual([file, words[0], words.length], ["/usr/bin/env", "bash", 2]);
  });

  it("is for sh one script that stops at the first failure, and for cmd.exe lines joined so", async () => {
    const command = (run: string | readonly string[], platform: NodeJS.Platform) => {
      const [step] = pipelineOf({ resources: { sh: { type: "cli" } }, steps: [{ use: "sh", run }] }).steps;
      assert(step?.type === "cli");
      return commandOf(step, stepContextFor("/", { platform }).stepContext);
    };
    const isLine = false;
    assert.deepEqual(await command("a\nb", "linux"), {
      file: "/bin/sh",
      words: ["-e", "-c", "a\nb"],
      isLine,
    });
    assert.deepEqual(await command("a\r\n\n b\n", "win32"), { file: "a &&  b", words: [], isLine: true });
    for (const [first, file, words] of [
      ["#!/usr/bin/env -S node --no-warnings", "node", ["--no-warnings"]],
      ["#!/usr/bin/env python3", "python3", []],
      ["#!/bin/bash -eu", "bash", ["-eu"]],
    ] as const) {
      const made = await command(`${first}\necho`, "win32");
      assert.deepEqual([made.file, made.words.slice(0, -1)], [file, words]);
    }
    assert.deepEqual(await command(["a", "b c"], "win32"), { file: "a", words: ["b c"], isLine });
  });
});
