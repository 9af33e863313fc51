import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { openDatabase } from "../../../src/service/store/openDatabase.ts";
import { columns, onTerminal } from "../../cli/onTerminal.ts";
import { Screen } from "../../cli/screen.ts";
import { type Toolbox, toolbox, written } from "../../cli/toolbox.ts";
import { itOn } from "../../itOn.ts";
import {
  programPipeline,
  untilCancelled,
  untilFile,
  writePid,
  writtenPid,
} from "../../service/startedService.ts";

describe("pipeline run, on a terminal", () => {
  let tool: Toolbox;
  before(async () => {
    tool = await toolbox();
  });
  after(() => tool[Symbol.asyncDispose]());

  itOn(
    "linux",
    "draws one line over while it runs, never wraps it, and leaves the screen in order",
    async () => {
      await tool.write("a-pipeline-with-a-name-as-long-as-a-line", programPipeline(untilFile("go")));
      const running = onTerminal(tool, "run a-pipeline-with-a-name-as-long-as-a-line");
      await written(running.stdout, /run_(?:.*?\r[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]){6}/s);
      await writeFile(join(tool.project, "go"), "");
      const { exitCode, stdout } = await running;
      assert.equal(exitCode, 0);
      const frames = stdout.slice(stdout.indexOf("run_")).split(/(?=\r[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏])/);
      for (const frame of frames.slice(1)) {
        const [line = ""] = frame.slice(1).split("\u001b[J");
        assert(stripVTControlCharacters(line).length < columns, line);
        assert.match(line, /…$/);
      }
      const screen = new Screen(400).write(stdout);
      assert(screen.isCursorShown);
      assert.match(
        screen.text,
        /^a-\S+: run_\w+ started\n {2}✓ only \([\d.]+ m?s\)\na-\S+: succeeded in [\d.]+ m?s\nrun_\w+ a-\S+ succeeded\n$/,
      );
    },
  );

  itOn("linux", "shows in how many seconds it gives up while it waits, and who holds the slot", async () => {
    await tool.write("long", programPipeline(untilCancelled));
    await tool.write("hello", programPipeline(""));
    await tool.run(["run", "long", "--detach"]);
    const waiting = onTerminal(tool, "run hello", { NO_COLOR: "1" });
    await written(waiting.stdout, /hello: waiting; gives up in 1[12]\d s · /);
    await tool.run(["runs", "cancel", "--mine"]);
    const { exitCode, stdout } = await waiting;
    assert.equal(exitCode, 0);
    const screen = new Screen(400).write(stdout);
    assert(screen.isCursorShown);
    assert.match(
      screen.text,
      /^hello: waiting for long \(run_\w+, up to .+ left\) to finish; gives up in 120 s\nhello: run_/,
    );
    assert(!stdout.includes("\u001b[3"), "no colours");
  });

  itOn("linux", "shows the cursor again however it ends", async () => {
    const stubborn = `process.on("SIGTERM", () => {}); ${writePid} ${untilCancelled}`;
    await tool.write("stubborn", programPipeline(stubborn));
    const following = onTerminal(tool, "run stubborn");
    const isHidden = written(following.stdout, /\[\?25l/);
    const step = await writtenPid(join(tool.project, "pid"));
    await isHidden;
    // A second Ctrl-C that comes at once would count as an echo of the first.
    const isCancelling = written(following.stdout, /stubborn: cancelling \S*· [1-9] s/);
    // As the terminal sends it: to everybody in the foreground.
    following.stdin.write("\u0003");
    await isCancelling;
    following.stdin.write("\u0003");
    const { exitCode, stdout } = await following;
    assert.equal(exitCode, 130);
    assert(new Screen(400).write(stdout).isCursorShown);
    assert.match(stdout, /stubborn may still be running \(run_\w+\)/);
    process.kill(step, "SIGKILL");
  });

  itOn("linux", "has a line for each run where several are active", async () => {
    await using tool = await toolbox();
    for (const name of ["one", "two", "three"]) await tool.write(name, programPipeline(untilFile("go")));
    await tool.run(["org"]);
    const db = await openDatabase(tool.data);
    await db.updateTable("orgs").set({ parallel_runs: 3 }).execute();
    await db.destroy();
    const running = onTerminal(tool, "run one two three --parallel 3");
    // In the order in which the service answered; before the last answer, fewer lines are drawn again and again.
    const drawn = /\b(\w+): only[^\n]*\n[^\n]* (?!\1)(\w+): only[^\n]*\n[^\n]* (?!\1|\2)\w+: only/;
    await written(running.stdout, drawn);
    await writeFile(join(tool.project, "go"), "");
    const { exitCode, stdout } = await running;
    assert.equal(exitCode, 0);
    const { text, isCursorShown } = new Screen(400).write(stdout);
    assert(isCursorShown);
    assert(!/[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]/.test(text), text);
    for (const name of ["one", "two", "three"]) assert.match(text, new RegExp(`✓ ${name}: only`));
    assert.match(text, /^3 runs: 3 succeeded · [\d.]+ m?s · 3 of 50 runs used today$/m);
  });

  itOn("linux", "draws nothing over with --quiet, in CI, or on a dumb terminal", async () => {
    await tool.write("hello", programPipeline(""));
    for (const [line, env] of [
      ["run hello --quiet", {}],
      ["run hello", { CI: "true" }],
      ["run hello", { TERM: "dumb" }],
    ] as const) {
      const { stdout } = await onTerminal(tool, line, env);
      assert(!/\[(?:\?25|J|K|\d*A)/.test(stdout), JSON.stringify(stdout));
    }
  });
});
