// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the references that pipeline files are written with.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { readConnection } from "../../../src/machine/connectionFile.ts";
import { TemporaryFolder } from "../../temporaryFolder.ts";
import { toolbox } from "../toolbox.ts";

describe("a start from a terminal", () => {
  if (process.platform === "win32") return;

  it("has that terminal's environment, not that in which the service was first started", async () => {
    await using tool = await toolbox();
    await using shell = await TemporaryFolder.make();
    await tool.write(
      "tell",
      [
        "resources: { sh: { type: cli } }",
        "steps:",
        '  - { use: sh, run: "echo ${{ env.STAGE }} | tr a-z A-Z && f=$(mktemp) && rm $f && env" }',
      ].join("\n"),
    );
    // A git hook in a shell of its own, which goes with its folder, is the first of the day.
    const hook = {
      STAGE: "morning",
      SESSION_SECRET: "of-the-hook",
      GIT_DIR: "/hooked",
      MAKELEVEL: "1",
      NPM_TOKEN: "of-a-person",
      npm_execpath: "/npm",
      npm_config_registry: "of-npm",
      TMPDIR: shell.path,
    };
    const first = await tool.run(["run", "tell", "--log"], hook);
    assert.equal(first.exitCode, 0, first.stderr);
    const log = (run: { readonly stdout: string; readonly stderr: string }) => run.stdout + run.stderr;
    assert.match(log(first), /MORNING/);
    assert.match(log(first), /SESSION_SECRET=of-the-hook/);
    assert.match(log(first), /NPM_TOKEN=of-a-person/);
    assert.doesNotMatch(log(first), /GIT_DIR|MAKELEVEL|of-npm/);
    await shell[Symbol.asyncDispose]();

    const second = await tool.run(["run", "tell", "--log"], { STAGE: "evening" });
    assert.equal(second.exitCode, 0, log(second));
    assert.match(log(second), /EVENING/);
    assert.doesNotMatch(log(second), /MORNING|SESSION_SECRET/);

    const third = await tool.run(["run", "tell"]);
    assert.match(log(third), /`STAGE` isn't set where the run was started/);

    const pid = (await readConnection(tool.data))?.pid;
    const environ = `/proc/${pid}/environ`;
    if (existsSync(environ))
      assert.doesNotMatch(await readFile(environ, "utf8"), /of-the-hook|morning|hooked|TMPDIR/);
    assert.doesNotMatch(
      await readFile(join(tool.data, "service.log"), "utf8"),
      /of-the-hook|morning|evening/,
    );
  });
});
