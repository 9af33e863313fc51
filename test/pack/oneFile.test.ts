import assert from "node:assert/strict";
import {
  chmod,
  copyFile,
  mkdir,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { projectRoot } from "../../scripts/projectRoot.ts";
import { readConnection } from "../../src/client/embedded/connectionFile.ts";
import { isAlive } from "../isAlive.ts";
import { itOn } from "../itOn.ts";
import { workplace } from "./workplace.ts";

const whole = join(projectRoot, "dist-one", "pipeline.cjs");

describe("the tool as one file", function () {
  this.timeout(300_000);
  let place: Awaited<ReturnType<typeof workplace>>;
  let tool: string;
  let cache: string;
  let version: string;

  beforeEach(async () => {
    place = await workplace();
    tool = join(place.installed, "pipeline.cjs");
    cache = join(place.home, "cache");
    ({ version } = JSON.parse(await readFile(join(projectRoot, "package.json"), "utf8")));
    await copyFile(whole, tool);
  });
  afterEach(() => place?.[Symbol.asyncDispose]());

  const run = (...args: string[]) => runWith({}, ...args);
  const runWith = (env: object, ...args: string[]) =>
    place.run(process.execPath, [tool, ...args], { env: { PIPELINE_CACHE_DIR: cache, ...env } });
  const unpacked = async () => {
    const [name = "", ...others] = await readdir(join(cache, "one-file"));
    assert.deepEqual(others, []);
    return join(cache, "one-file", name);
  };

  it("runs steps of all four types on a service that it starts, that outlives it, and that ends when asked", async () => {
    const { exitCode, stderr } = await run("run", "every");
    assert.equal(exitCode, 0, stderr);
    const connection = await readConnection(place.data);
    assert.ok(connection !== undefined && isAlive(connection.pid));
    assert.equal(connection.version, version);
    const created = await run("keys", "create", "--role", "member", "--org", "other", "--json");
    assert.equal(JSON.parse(created.stdout).ok, true);
  });

  it("runs under any name, in any folder, also as a program of its own", async () => {
    for (const type of ["module", "commonjs"]) {
      await writeFile(join(place.installed, "package.json"), JSON.stringify({ type }));
      for (const name of ["pipeline", "pipeline.mjs", "pipeline.cjs", "pipeline.js"]) {
        const other = join(place.installed, name);
        await copyFile(whole, other);
        const { stdout } = await place.run(process.execPath, [other, "--help"]);
        assert.match(stdout, /^Usage: pipeline/, `${name} as ${type}`);
      }
    }
  });

  itOn(
    "posix",
    "runs through a link, and answers what version it is without unpacking anything",
    async () => {
      const link = join(place.home, "linked");
      await chmod(tool, 0o755);
      await symlink(tool, link);
      const env = { PIPELINE_CACHE_DIR: cache };
      assert.equal((await place.run(link, ["--version"], { env })).stdout, version);
      await assert.rejects(stat(cache));
      assert.equal((await place.run(link, ["--help"], { env })).exitCode, 0);
    },
  );

  it("is unpacked once, by any number of tools at the same time", async () => {
    const ends = await Promise.all(Array.from({ length: 5 }, () => run("--help")));
    for (const { exitCode, stderr } of ends) assert.equal(exitCode, 0, stderr);
    const files = await readdir(await unpacked());
    assert.ok(!files.some((name) => name.endsWith(".tmp")), files.join());
  });

  it("mends what someone has tidied away, and throws away the versions that nobody used for a month", async () => {
    await run("--help");
    const old = join(cache, "one-file", "0.0.1-old");
    await mkdir(old);
    await utimes(old, 1, 1);
    await rm(join(await unpackedBeside(old), "tool.cjs"));
    await writeFile(join(await unpackedBeside(old), "service.js"), "half");
    assert.equal((await run("org")).exitCode, 0);
    await unpacked();
  });

  it("runs nothing of a file that was damaged on its way", async () => {
    const text = await readFile(whole, "latin1");
    const at = text.length - 1000;
    await writeFile(tool, `${text.slice(0, at)}AAAA${text.slice(at + 4)}`, "latin1");
    const { exitCode, stderr } = await run("org");
    assert.equal(exitCode, 4);
    assert.match(stderr, /pipeline\.cjs is damaged: download it again/);
  });

  itOn("posix", "unpacks into no folder that others can write to", async () => {
    await mkdir(cache);
    await chmod(cache, 0o777);
    const { exitCode, stderr } = await run("org");
    assert.equal(exitCode, 4);
    assert.match(
      stderr,
      /others may write to .*cache\)\. Name a folder of your own with PIPELINE_CACHE_DIR\.$/,
    );
  });

  itOn("posix", "unpacks into no folder that a group can write to, nor through one", async () => {
    const open = join(place.home, "group");
    await mkdir(open);
    await chmod(open, 0o777);
    for (const folder of [open, join(open, "cache")]) {
      const { exitCode, stderr } = await runWith({ PIPELINE_CACHE_DIR: folder }, "org");
      assert.equal(exitCode, 4);
      assert.match(stderr, /others may write to .*group\)/);
    }
    await chmod(open, 0o770);
    assert.equal((await runWith({ PIPELINE_CACHE_DIR: open }, "org")).exitCode, 4);
    assert.deepEqual(await readdir(open), []);
  });

  itOn("linux", "keeps what is compiled in the place that it unpacks into", async () => {
    const home = join(place.home, "shared");
    const temporary = join(place.home, "temporary");
    await mkdir(temporary);
    await mkdir(join(home, "pipeline-runs"), { recursive: true });
    await chmod(join(home, "pipeline-runs"), 0o777);
    const env = { PIPELINE_CACHE_DIR: undefined, XDG_CACHE_HOME: home, TMPDIR: temporary };
    const { exitCode, stderr } = await runWith(env, "--help");
    assert.equal(exitCode, 0, stderr);
    assert.deepEqual(await readdir(join(home, "pipeline-runs")), []);
    const [own = ""] = await readdir(temporary);
    assert.deepEqual((await readdir(join(temporary, own))).sort(), ["compiled", "one-file"]);
  });

  it("finds another place where the user has no cache folder", async () => {
    const temporary = join(place.home, "temporary");
    await mkdir(temporary);
    const env = {
      PIPELINE_CACHE_DIR: undefined,
      TMPDIR: temporary,
      TEMP: temporary,
      HOME: "",
      LOCALAPPDATA: "",
    };
    const { exitCode, stderr } = await runWith(env, "--help");
    assert.equal(exitCode, 0, stderr);
    assert.equal((await readdir(temporary)).length, 1);
  });

  itOn("posix", "passes on what a reader of its output does: | head is no error", async () => {
    const { exitCode, stdout } = await execa({
      shell: true,
      cwd: place.project,
      env: { ...place.env, PIPELINE_CACHE_DIR: cache },
      extendEnv: false,
    })`"${process.execPath}" "${tool}" --help | head -n 1`;
    assert.equal(exitCode, 0);
    assert.match(stdout, /^Usage: pipeline/);
  });

  async function unpackedBeside(other: string): Promise<string> {
    const [name = ""] = (await readdir(join(cache, "one-file"))).filter((each) => !other.endsWith(each));
    return join(cache, "one-file", name);
  }
});
