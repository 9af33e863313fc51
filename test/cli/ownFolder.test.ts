import assert from "node:assert/strict";
import { chmod, chown, mkdir, readdir, stat, symlink } from "node:fs/promises";
import { join } from "node:path";
import { ownFolder } from "../../src/cli/ownFolder.ts";
import { itOn } from "../itOn.ts";
import { TemporaryFolder } from "../temporaryFolder.ts";
import { toolbox } from "./toolbox.ts";

describe("the folder that code of the tool's is kept in", () => {
  let base: TemporaryFolder;
  beforeEach(async () => {
    base = await TemporaryFolder.make();
  });
  afterEach(() => base[Symbol.asyncDispose]());
  const at = (...parts: string[]) => join(base.path, ...parts);
  const made = async (mode: number, ...parts: string[]) => {
    await mkdir(at(...parts), { recursive: true });
    await chmod(at(...parts), mode);
    return at(...parts);
  };

  itOn("posix", "is made for the user alone, with what leads to it", async () => {
    assert.equal(ownFolder(at("a", "b")), at("a", "b"));
    for (const folder of [at("a"), at("a", "b")]) assert.equal((await stat(folder)).mode & 0o777, 0o700);
  });

  for (const mode of [0o770, 0o777, 0o1777, 0o702]) {
    itOn("posix", `is none that others may write to (${mode.toString(8)})`, async () => {
      const folder = await made(mode, "open");
      assert.throws(() => ownFolder(folder), /others may write to .*open$/);
    });
  }

  itOn("posix", "lies in no folder where others can exchange it, but may lie in a sticky one", async () => {
    await made(0o777, "open");
    assert.throws(() => ownFolder(at("open", "cache")), /others may write to .*open$/);
    assert.deepEqual(await readdir(at("open")), []);
    await made(0o1777, "open");
    assert.equal(ownFolder(at("open", "cache")), at("open", "cache"));
  });

  itOn("posix", "is the one behind a link, by the same rule", async () => {
    await made(0o700, "real");
    await symlink("real", at("link"));
    assert.equal(ownFolder(at("link", "cache")), at("real", "cache"));
    await chmod(at("real", "cache"), 0o777);
    assert.throws(() => ownFolder(at("link", "cache")), /others may write to .*real.cache$/);
    await symlink("loop", at("loop"));
    assert.throws(() => ownFolder(at("loop")), /loop is a link without an end$/);
  });

  if (process.getuid?.() === 0) {
    itOn("posix", "is neither another user's nor behind something of another's", async () => {
      await made(0o755, "theirs");
      await chown(at("theirs"), 65_534, 65_534);
      assert.throws(() => ownFolder(at("theirs")), /theirs is another user's$/);
      assert.throws(() => ownFolder(at("theirs", "cache")), /theirs is another user's$/);
      assert.deepEqual(await readdir(at("theirs")), []);
    });
  }

  /** The folders that Node would find what it runs in. */
  const compiled = async (cache: string) => {
    const version = (await readdir(join(cache, "compiled"))).find((name) => name.startsWith("v")) ?? "";
    return [cache, join(cache, "compiled"), join(cache, "compiled", version)];
  };

  itOn("posix", "is left alone by the tool when others may write to it or to what is in it", async () => {
    await using tool = await toolbox();
    const cache = at("cache");
    const start = () => tool.run(["--help"], { PIPELINE_CACHE_DIR: cache });
    await start();
    const folders = await compiled(cache);
    for (const folder of folders) assert.equal((await stat(folder)).mode & 0o777, 0o700, folder);
    const kept = folders[2] ?? "";
    const { mtimeMs, ino } = await stat(join(kept, (await readdir(kept))[0] ?? ""));
    for (const folder of folders) {
      await chmod(folder, 0o777);
      const { readable } = await loaded(tool, cache);
      assert.deepEqual(readable, [], folder);
      await chmod(folder, 0o700);
    }
    const { readable } = await loaded(tool, cache);
    assert.ok(readable.length > 0);
    const after = await stat(join(kept, (await readdir(kept))[0] ?? ""));
    assert.deepEqual({ mtimeMs, ino }, { mtimeMs: after.mtimeMs, ino: after.ino });
  });
});

/** What Node says that it reads of what it has kept compiled. */
async function loaded(tool: Awaited<ReturnType<typeof toolbox>>, cache: string) {
  const env = { PIPELINE_CACHE_DIR: cache, NODE_DEBUG_NATIVE: "COMPILE_CACHE" };
  const { exitCode, stdout, stderr } = await tool.run(["--help"], env);
  assert.equal(exitCode, 0, stderr);
  return { readable: `${stdout}\n${stderr}`.split("\n").filter((line) => line.includes("reading cache")) };
}
