import assert from "node:assert/strict";
import { chmod, chown, mkdir, readdir, realpath, stat, symlink } from "node:fs/promises";
import { join } from "node:path";
import { compiledFolder } from "../../src/machine/compiledFolder.ts";
import { toolbox } from "../cli/toolbox.ts";
import { itOn } from "../itOn.ts";
import { TemporaryFolder } from "../temporaryFolder.ts";

describe("the folder of the compile cache", () => {
  let base: TemporaryFolder;
  let root: string;
  beforeEach(async () => {
    base = await TemporaryFolder.make();
    root = await realpath(base.path);
  });
  afterEach(() => base[Symbol.asyncDispose]());
  const at = (...parts: string[]) => join(root, ...parts);
  const folderOf = (path: string) => compiledFolder({ PIPELINE_CACHE_DIR: path }, process.platform);
  const made = async (mode: number, ...parts: string[]) => {
    await mkdir(at(...parts), { recursive: true });
    await chmod(at(...parts), mode);
    return at(...parts);
  };

  itOn("posix", "is made for the user alone, with what leads to it", async () => {
    assert.equal(folderOf(at("a", "b")), at("a", "b"));
    for (const folder of [at("a"), at("a", "b")]) assert.equal((await stat(folder)).mode & 0o777, 0o700);
  });

  it("is the one that the system's customs name, where nobody names another and it has a whole path", () => {
    const linux = (env: Record<string, string>) => compiledFolder(env, "linux");
    assert.equal(linux({ XDG_CACHE_HOME: at("xdg"), HOME: at("home") }), join(at("xdg"), "pipeline-runs"));
    assert.equal(
      linux({ XDG_CACHE_HOME: "", HOME: at("home") }),
      join(at("home"), ".cache", "pipeline-runs"),
    );
    assert.equal(
      compiledFolder({ HOME: at("home") }, "darwin"),
      join(at("home"), "Library", "Caches", "pipeline-runs"),
    );
    assert.equal(
      compiledFolder({ LOCALAPPDATA: at("local") }, "win32"),
      join(at("local"), "pipeline-runs", "Cache"),
    );
    assert.equal(linux({}), undefined);
    assert.equal(folderOf("somewhere"), undefined);
  });

  for (const mode of [0o770, 0o777, 0o1777, 0o702]) {
    itOn("posix", `is none that others may write to (${mode.toString(8)})`, async () => {
      assert.equal(folderOf(await made(mode, "open")), undefined);
    });
  }

  itOn("posix", "lies in no folder where others can exchange it, but may lie in a sticky one", async () => {
    await made(0o777, "open");
    assert.equal(folderOf(at("open", "cache")), undefined);
    assert.equal(folderOf(at("open", "one", "two")), undefined);
    await made(0o1777, "open");
    assert.equal(folderOf(at("open", "cache")), at("open", "cache"));
  });

  itOn("posix", "is the one behind a link, by the same rule", async () => {
    await made(0o700, "real");
    await symlink("real", at("link"));
    assert.equal(folderOf(at("link", "cache")), at("real", "cache"));
    await chmod(at("real", "cache"), 0o777);
    assert.equal(folderOf(at("link", "cache")), undefined);
    await symlink("loop", at("loop"));
    assert.equal(folderOf(at("loop")), undefined);
  });

  if (process.getuid?.() === 0) {
    it("is not made in another user's home, as root may have it", async () => {
      await chown(await made(0o755, "home"), 65_534, 65_534);
      assert.equal(compiledFolder({ HOME: at("home") }, "linux"), undefined);
      assert.deepEqual(await readdir(at("home")), []);
    });

    itOn("posix", "is neither another user's nor in something of another's", async () => {
      await made(0o755, "theirs");
      await chown(at("theirs"), 65_534, 65_534);
      assert.equal(folderOf(at("theirs")), undefined);
      assert.equal(folderOf(at("theirs", "cache")), undefined);
    });
  }

  itOn(
    "posix",
    "is where the tool finds it compiled, unless others may write there or that is declined",
    async () => {
      await using tool = await toolbox();
      const cache = at("cache");
      assert.deepEqual(await readFromCache(tool, cache), []);
      assert.ok((await readFromCache(tool, cache)).length > 0);
      await chmod(cache, 0o777);
      assert.deepEqual(await readFromCache(tool, cache), []);
      const other = at("other");
      await tool.run(["--help"], { PIPELINE_CACHE_DIR: other, NODE_DISABLE_COMPILE_CACHE: "1" });
      assert.deepEqual(await readdir(other), []);
    },
  );
});

/** What Node says that it finds of what it has kept compiled. */
async function readFromCache(tool: Awaited<ReturnType<typeof toolbox>>, cache: string): Promise<string[]> {
  const env = { PIPELINE_CACHE_DIR: cache, NODE_DEBUG_NATIVE: "COMPILE_CACHE" };
  const { exitCode, stdout, stderr } = await tool.run(["--help"], env);
  assert.equal(exitCode, 0, stderr);
  return `${stdout}\n${stderr}`.split("\n").filter((line) => /code cache for .* was accepted/.test(line));
}
