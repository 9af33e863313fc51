import assert from "node:assert/strict";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { type Toolbox, toolbox, written } from "../../cli/toolbox.ts";
import { itOn } from "../../itOn.ts";
import { programPipeline, untilFile } from "../../service/startedService.ts";

describe("a tool whose output is not taken", () => {
  let tool: Toolbox;
  before(async () => {
    tool = await toolbox();
  });
  after(() => tool[Symbol.asyncDispose]());
  const go = () => writeFile(join(tool.project, "go"), "");
  afterEach(() => rm(join(tool.project, "go"), { force: true }));

  for (const flags of [[], ["--log"]]) {
    itOn("posix", `follows its run to the end when nobody reads any more (${flags})`, async () => {
      await tool.write("talk", programPipeline(`console.log('one'); ${untilFile("go", 3)}`));
      const following = tool.spawn(["run", "talk", ...flags]);
      await written(following.stderr, /started/);
      following.stdout.destroy();
      await go();
      const { exitCode, stderr } = await following;
      assert.equal(exitCode, 1);
      assert.match(stderr, /talk: failed in/);
      assert(!/EPIPE|^ +at /m.test(stderr), stderr);
    });
  }

  itOn("posix", "follows its run to the end when nobody reads its progress either", async () => {
    await tool.write("talk", programPipeline(untilFile("go", 3)));
    const following = tool.spawn(["run", "talk"]);
    await written(following.stderr, /started/);
    following.stderr.destroy();
    following.stdout.destroy();
    await go();
    assert.equal((await following).exitCode, 1);
    const { runs } = JSON.parse((await tool.run(["runs", "list", "--json"])).stdout);
    assert.equal(runs[0].status, "failed");
  });

  itOn(
    "linux",
    "says so once when the disk is full, follows its run to the end, and ends with 4",
    async () => {
      await tool.write("talk", programPipeline("console.log('one\\ntwo\\nthree')"));
      const line = 'exec "$0" "$@" > /dev/full';
      const words = [process.execPath, tool.path, "run", "talk", "--log"];
      const { exitCode, stderr } = await execa("sh", ["-c", line, ...words], {
        cwd: tool.project,
        env: tool.env,
        stdin: "ignore",
        reject: false,
      });
      assert.equal(exitCode, 4);
      assert.match(stderr, /talk: succeeded/);
      assert.equal(stderr.split("the output can't be written: ENOSPC").length - 1, 1);
    },
  );

  // What is told without any command: the version, help, and what a shell asks for.
  for (const args of [["--version"], ["--help"], ["completion", "bash"], ["__complete", "fish", "ru"]]) {
    itOn("posix", `is no error when nobody reads any of it (${args.join(" ")})`, async () => {
      assert.deepEqual(await shell(tool, '{ "$0" "$@"; echo "ended with $?" >&2; } | true', args), {
        exitCode: 0,
        stderr: "ended with 0",
      });
    });

    itOn("linux", `is an error of one sentence when the disk is full (${args.join(" ")})`, async () => {
      assert.deepEqual(await shell(tool, 'exec "$0" "$@" > /dev/full', args), {
        exitCode: 4,
        stderr: "pipeline: the output can't be written: ENOSPC: no space left on device, write",
      });
      assert.equal((await shell(tool, 'exec "$0" "$@" > /dev/full 2>&1', args)).exitCode, 4);
    });
  }

  for (const where of ["2>&-", "2>/dev/full"]) {
    itOn("linux", `ends with its own code when its prose can't be written (${where})`, async () => {
      assert.equal((await shell(tool, `exec "$0" "$@" ${where}`, ["nope"])).exitCode, 2);
      assert.equal((await shell(tool, `exec "$0" "$@" ${where}`, ["--version"])).exitCode, 0);
    });
  }
});

/** The tool as a shell starts it: `"$0" "$@"`. */
async function shell(tool: Awaited<ReturnType<typeof toolbox>>, line: string, args: readonly string[]) {
  const { exitCode, stderr } = await execa("sh", ["-c", line, process.execPath, tool.path, ...args], {
    cwd: tool.project,
    env: tool.env,
    stdin: "ignore",
    reject: false,
  });
  return { exitCode, stderr };
}
