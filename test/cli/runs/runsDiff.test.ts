import assert from "node:assert/strict";
import { execa } from "execa";
import { LoopbackService, runOnWire, sendError, sendJson, testKey } from "../../client/loopbackService.ts";
import { servedToolbox, toolbox } from "../toolbox.ts";

const nightly = (code: string) =>
  JSON.stringify({
    resources: { sh: { type: "cli" } },
    steps: [{ name: "one", use: "sh", run: [process.execPath, "-e", code] }],
  });

describe("pipeline runs diff", () => {
  it("shows what changed since the pipeline last succeeded, and `runs file` the file as it ran", async () => {
    await using tool = await servedToolbox();
    const git = (...words: string[]) => execa("git", words, { cwd: tool.project });
    await git("init", "-q", "-b", "main");
    await git("config", "user.name", "Ada");
    await git("config", "user.email", "ada@example.com");
    for (const code of ["", "process.exit(3)"]) {
      await tool.write("nightly", nightly(code));
      await git("add", ".");
      await git("commit", "-q", "-m", "a change");
      await tool.call(["run", "nightly"]);
    }
    const show = await tool.call(["runs", "show"]);
    assert.match(show.stdout, /^commit +[0-9a-f]{7} on main$/m);
    assert.match(show.stdout, /`pipeline runs diff run_\w+` shows what changed since it last succeeded\.$/);
    const { stdout, stderr, exitCode } = await tool.call(["runs", "diff"]);
    assert.deepEqual([stderr, exitCode], ["", 0]);
    assert.match(stdout, /^Since nightly last succeeded: run_\w+, .*\nCommits \w{7}\.\.\w{7}: `git log/);
    assert(
      stdout.endsWith(
        `\n-${nightly("")}\n\\ No newline at end of file\n+${nightly("process.exit(3)")}\n\\ No newline at end of file`,
      ),
      stdout,
    );
    const told = JSON.parse((await tool.call(["runs", "diff", "--json"])).stdout);
    assert.deepEqual(Object.keys(told.diffs), ["pipelines/nightly.yaml"]);
    assert.deepEqual([told.commit.branch, told.commit.changed], ["main", false]);
    assert.match(told["last-passed"]["run-id"], /^run_/);
    assert.equal((await tool.call(["runs", "file"])).stdout, nightly("process.exit(3)"));
    const file = JSON.parse(
      (await tool.call(["runs", "file", told["last-passed"]["run-id"], "--json"])).stdout,
    );
    assert.deepEqual(file.texts, { "pipelines/nightly.yaml": nightly("") });
  });

  it("says of a service with the given endpoints alone that it has none, and `runs show` shows nothing of it", async () => {
    const run = runOnWire({ status: "failed" });
    await using service = await LoopbackService.listen(({ path }, response) =>
      path === `/api/runs/${run["run-id"]}`
        ? sendJson(response, 200, run)
        : sendError(response, 404, "not-found", "no such path"),
    );
    await using tool = await toolbox();
    const env = { PIPELINE_BASE_URL: service.origin, PIPELINE_API_KEY: testKey };
    const show = await tool.call(["runs", "show", String(run["run-id"])], env);
    assert.equal(show.exitCode, 0);
    assert.doesNotMatch(show.stdout, /commit|runs diff/);
    const diff = await tool.call(["runs", "diff", String(run["run-id"])], env);
    assert.notEqual(diff.exitCode, 0);
    assert.equal(diff.stdout, "");
  });
});
