import assert from "node:assert/strict";
import { access, readdir, readFile, symlink } from "node:fs/promises";
import { join } from "node:path";
import { npmCommand } from "../../../scripts/process/npm.ts";
import { projectRoot } from "../../../scripts/projectRoot.ts";
import { readConnection } from "../../../src/client/embedded/connectionFile.ts";
import { isAlive } from "../../isAlive.ts";
import { itOn } from "../../itOn.ts";
import { workplace } from "./workplace.ts";

describe("the package for npm", function () {
  this.timeout(300_000);
  let place: Awaited<ReturnType<typeof workplace>>;
  let version: string;
  const [npm, ...leading] = npmCommand(process.env);
  /** Without a registry: what isn't in the package isn't there. */
  const offline = { npm_config_offline: "true", npm_config_registry: "http://127.0.0.1:9/" };
  const run = (...args: string[]) =>
    place.run(npm, [...leading, ...args], { folder: place.installed, env: offline });

  before(async () => {
    place = await workplace();
    ({ version } = JSON.parse(await readFile(join(projectRoot, "package.json"), "utf8")));
    const { exitCode, stderr } = await run(
      "install",
      "--no-audit",
      "--no-fund",
      join(projectRoot, "dist-npm", `pipeline-runs-${version}.tgz`),
    );
    assert.equal(exitCode, 0, stderr);
  });
  after(() => place?.[Symbol.asyncDispose]());

  const packed = () => join(place.installed, "node_modules", "pipeline-runs");
  const command = () =>
    join(place.installed, "node_modules", ".bin", process.platform === "win32" ? "pipeline.cmd" : "pipeline");

  it("brings the command, also by npx with the package's name", async () => {
    assert.deepEqual(await place.run(command(), ["--version"]), { exitCode: 0, stdout: version, stderr: "" });
    const { exitCode, stdout } = await run("exec", "--", "pipeline-runs", "--version");
    assert.deepEqual({ exitCode, stdout }, { exitCode: 0, stdout: version });
  });

  it("needs no other package, runs nothing when it is installed, and holds nothing of the editor's", async () => {
    const manifest = JSON.parse(await readFile(join(packed(), "package.json"), "utf8"));
    for (const field of ["dependencies", "devDependencies", "scripts", "private", "contributes"]) {
      assert.equal(manifest[field], undefined, field);
    }
    assert.deepEqual(manifest.bin, { pipeline: "dist/cli.js" });
    assert.deepEqual((await readdir(packed())).sort(), [
      "CHANGELOG.md",
      "LICENSE",
      "README.md",
      "dist",
      "package.json",
    ]);
    const built = await readdir(join(packed(), "dist"));
    assert.ok(!built.some((name) => name.startsWith("extension")));
    for (const page of manifest.man ?? []) await access(join(packed(), page));
    assert.equal((await run("ls", "--all")).exitCode, 0);
  });

  it("runs steps of all four types on a service that it starts, and that outlives it", async () => {
    const { exitCode, stderr } = await place.run(command(), ["run", "every"]);
    assert.equal(exitCode, 0, stderr);
    const connection = await readConnection(place.data);
    assert.ok(connection !== undefined && isAlive(connection.pid));
    assert.equal(connection.version, version);
  });

  itOn("posix", "runs through a link from elsewhere", async () => {
    const link = join(place.home, "a link");
    await symlink(command(), link);
    const { exitCode, stdout } = await place.run(link, ["org", "--json"]);
    assert.equal(exitCode, 0);
    assert.equal(JSON.parse(stdout).ok, true);
  });
});
