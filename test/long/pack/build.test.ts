import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { npmCommand, withoutScriptVariables } from "../../../scripts/process/npm.ts";
import { projectRoot } from "../../../scripts/projectRoot.ts";
import { TemporaryFolder } from "../../temporaryFolder.ts";

/** Has files read in another order each time, as on a busy machine, where that comes once in a while. */
const lateReads = `
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { setTimeout as pause } from "node:timers/promises";
const { readFile } = fs.promises;
fs.promises.readFile = (...words) => pause(Math.random() * 20).then(() => readFile(...words));
syncBuiltinESMExports();`;

async function build(folder: string, nodeOptions: readonly string[] = [], options: readonly string[] = []) {
  await execa(process.execPath, [...nodeOptions, "esbuild.mjs", "--outdir", folder, ...options], {
    cwd: projectRoot,
  });
  const files = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = files.filter((file) => file.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  const hashes = paths.sort().map(async (path) => {
    const content = await readFile(path);
    return [path.slice(folder.length), createHash("sha256").update(content).digest("hex")] as const;
  });
  return new Map(await Promise.all(hashes));
}

describe("the build", function () {
  this.timeout(600_000);

  it("makes the same files of the same sources, byte for byte, in whatever order they are read", async () => {
    await using folder = await TemporaryFolder.make();
    const first = await build(join(folder.path, "0"));
    assert(first.size > 50);
    for (const name of ["1", "2", "3", "4", "5"]) {
      const late = ["--import", `data:text/javascript,${encodeURIComponent(lateReads)}`];
      assert.deepEqual(await build(join(folder.path, name), late), first);
    }
  });

  it("leaves what an open window may still load for a day, and nothing of that in a package", async () => {
    await using folder = await TemporaryFolder.make();
    const old = join("extension", "runPipeline-AAAAAAAA.js");
    await mkdir(join(folder.path, "extension"));
    await writeFile(join(folder.path, old), "");
    const has = async (...options: string[]) => (await build(folder.path, [], options)).has(`/${old}`);
    assert.equal(await has(), true);
    assert.equal(await has(), true, "not one build, but a day");
    const leftovers = join(folder.path, "leftovers.json");
    const since: Record<string, number> = JSON.parse(await readFile(leftovers, "utf8"));
    const twoDays = 2 * 86_400_000;
    const earlier = Object.entries(since).map(([file, time]) => [file, time - twoDays]);
    await writeFile(leftovers, JSON.stringify(Object.fromEntries(earlier)));
    assert.equal(await has(), false);
    await writeFile(join(folder.path, old), "");
    assert.equal(await has("--for-package"), false);
    assert(!(await readdir(folder.path)).includes("leftovers.json"));
  });

  it("is left as it is by npx, also at its first call", async () => {
    await using cache = await TemporaryFolder.make();
    const program = join(projectRoot, "dist", "cli.js");
    const before = await stat(program);
    const [npm, ...leading] = npmCommand(process.env);
    const { stdout } = await execa(npm, [...leading, "exec", "--", "pipeline", "--version"], {
      cwd: join(projectRoot, "samples"),
      env: { ...withoutScriptVariables(process.env), npm_config_cache: cache.path },
      extendEnv: false,
    });
    assert.match(stdout, /^\d+\.\d+\.\d+$/);
    assert.equal((await stat(program)).mtimeMs, before.mtimeMs);
  });
});
