import assert from "node:assert/strict";
import { cp, mkdir, realpath, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { execa } from "execa";
import { projectRoot } from "../../../scripts/projectRoot.ts";
import { itOn } from "../../itOn.ts";
import { TemporaryFolder } from "../../temporaryFolder.ts";

/** Tells how it was called, in place of the tool. */
const teller = `
import { readFileSync } from "node:fs";
if (process.argv[2] === "wait") {
  process.on("SIGINT", () => process.exit(130));
  process.stdout.write("waiting");
  setInterval(() => {}, 1e6);
} else {
  const input = readFileSync(0, "utf8");
  const asNode = process.env.ELECTRON_RUN_AS_NODE ?? "";
  process.stdout.write(JSON.stringify({ args: process.argv.slice(2), input, asNode, execPath: process.execPath }));
  process.exitCode = 5;
}`;

describe("the command that the extension brings", () => {
  let folder: TemporaryFolder;
  let command: string;

  before(async () => {
    folder = await TemporaryFolder.make("an extension's");
    await cp(join(projectRoot, "bin"), join(folder.path, "bin"), { recursive: true });
    await mkdir(join(folder.path, "dist"));
    await cp(join(projectRoot, "package.json"), join(folder.path, "package.json"));
    await writeFile(join(folder.path, "dist", "cli.js"), teller);
    command = join(folder.path, "bin", "pipeline");
  });
  after(() => folder?.[Symbol.asyncDispose]());

  const withNode = { PATH: `${dirname(process.execPath)}:/usr/bin:/bin` };
  const run = (args: readonly string[], env: Record<string, string>, program = command) =>
    execa(program, args, { env, extendEnv: false, reject: false, input: "typed" });

  itOn(
    "posix",
    "hands on arguments, standard input and the exit code, with the editor's runtime",
    async () => {
      const args = ["run", "two words", "it's", '"', "$HOME", "", "*", "-x", "--env-file", "/nope"];
      const env = { PATH: "/usr/bin:/bin", PIPELINE_EDITOR_RUNTIME: process.execPath };
      const { exitCode, stdout, stderr } = await run(args, env);
      assert.equal(exitCode, 5, stderr);
      assert.deepEqual(JSON.parse(stdout), { args, input: "typed", asNode: "1", execPath: process.execPath });
    },
  );

  itOn("posix", "uses a node on the PATH outside of the editor, also through links", async () => {
    const [first, second] = [join(folder.path, "first"), join(folder.path, "second")];
    await symlink("bin/pipeline", first);
    await symlink(first, second);
    for (const program of [command, first, second]) {
      const { stdout, stderr } = await run(["org", "--env-file=/nope"], withNode, program);
      const told = JSON.parse(stdout || stderr);
      assert.deepEqual([told.args, told.asNode], [["org", "--env-file=/nope"], ""]);
      assert.equal(await realpath(told.execPath), await realpath(process.execPath));
    }
  });

  itOn("posix", "says what is missing where there is no Node.js: exit code 4", async () => {
    const empty = join(folder.path, "empty");
    await mkdir(empty, { recursive: true });
    const gone = { PATH: empty, PIPELINE_EDITOR_RUNTIME: join(empty, "gone") };
    const { exitCode, stderr } = await run(["org"], gone);
    assert.equal(exitCode, 4);
    assert.match(stderr, /^pipeline: there is no Node\.js here/);
  });

  itOn("posix", "is the tool's own process: a signal reaches it", async () => {
    const child = execa(command, ["wait"], { env: withNode, extendEnv: false, reject: false });
    await new Promise((resolve) => child.stdout.once("data", resolve));
    child.kill("SIGINT");
    assert.equal((await child).exitCode, 130);
  });

  itOn("posix", "may be executed as it lies in the repository", async () => {
    const { exitCode, stdout } = await run(["--version"], withNode, join(projectRoot, "bin", "pipeline"));
    assert.equal(exitCode, 0);
    assert.match(stdout, /^\d+\.\d+\.\d+$/);
  });
});
