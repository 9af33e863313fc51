import assert from "node:assert/strict";
import { mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { connectEmbedded } from "../../../src/client/embedded/connectEmbedded.ts";
import type { Embedded } from "../../../src/client/embedded/findEmbedded.ts";
import { findEmbedded } from "../../../src/client/embedded/findEmbedded.ts";
import { watchEvents } from "../../../src/client/follow/events.ts";
import { startRun } from "../../../src/client/start/startRun.ts";
import { readConnection } from "../../../src/machine/connectionFile.ts";
import { standInFor } from "../../client/embedded/standIn.ts";
import { isAlive } from "../../isAlive.ts";
import { compiledFolder, lateRunnerPath } from "../../service/programs.ts";
import { ended, programPipeline, started } from "../../service/startedService.ts";
import { TemporaryFolder } from "../../temporaryFolder.ts";
import { until } from "../../until.ts";

const never = new AbortController().signal;
const serveMachine = new URL("../../../src/service/serveMachine.ts", import.meta.url).href;

/** The real service as a program that says it is of this version; left out, as one of the sources. */
function program(version?: string, runnerPath = lateRunnerPath): string {
  return `
import { enableCompileCache } from "node:module";
enableCompileCache(${JSON.stringify(compiledFolder)});
const { serveMachine } = await import(${JSON.stringify(serveMachine)});
await serveMachine({ version: ${JSON.stringify(version)}, runnerPath: ${JSON.stringify(runnerPath)} });`;
}

/** One machine with faces of two versions, each of which can start a real service of its own version. */
async function machine() {
  const standIn = await standInFor(program("0.4.0"));
  const newer = join(standIn.servicePath, "..", "newer.mjs");
  await writeFile(newer, program("0.10.0"));
  const project = await TemporaryFolder.make();
  await mkdir(join(project.path, "pipelines"));
  return {
    standIn,
    old: () => connectEmbedded(standIn.deps({ version: "0.4.0" }), never),
    new: () => connectEmbedded(standIn.deps({ version: "0.10.0", servicePath: newer }), never),
    write: (name: string, text: string) => writeFile(join(project.path, "pipelines", `${name}.yaml`), text),
    /** A client that the project is known to. */
    async client({ client }: Embedded) {
      await client.putProject(basename(project.path), project.path, never);
      return client;
    },
    async [Symbol.asyncDispose]() {
      await standIn[Symbol.asyncDispose]();
      await project[Symbol.asyncDispose]();
    },
  };
}

async function untilGone(pid: number): Promise<void> {
  await until(async () => !isAlive(pid));
}

describe("an embedded service of another version", () => {
  it("that is older leaves for the newer face's own; runs, counts and keys are as they were", async () => {
    await using here = await machine();
    const old = await here.old();
    assert.equal(old.connection.version, "0.4.0");
    await here.write("hello", programPipeline(""));
    const client = await here.client(old);
    const run = await ended(client, await started(client, "hello"));
    const before = await client.org(never);

    const found = await here.new();
    assert.equal(found.connection.version, "0.10.0");
    await untilGone(old.connection.pid);
    assert.deepEqual(await found.client.org(never), before);
    assert.deepEqual(await found.client.run(run.runId, never), run);
    // The address stays, so that a page that is open finds the new one.
    assert.equal(found.connection.url, old.connection.url);
    assert.equal(here.standIn.pids.length, 2);
  });

  it("that is older goes on while a run is active, serves the newer face meanwhile, and leaves then", async () => {
    await using here = await machine();
    const old = await here.old();
    const client = await here.client(old);
    await here.write(
      "until",
      programPipeline(
        "const {existsSync} = require('node:fs'); setInterval(() => existsSync('go.yaml') && process.exit(), 20)",
      ),
    );
    await here.write("hello", programPipeline(""));
    const run = await started(client, "until");
    const meanwhile = await here.new();
    assert.equal(meanwhile.connection.instance, old.connection.instance);
    const waiting = started(meanwhile.client, "hello", 60);
    await here.write("../go", "");
    assert.equal((await ended(client, run)).status, "succeeded");
    // Who waited gets the slot, from the old one.
    assert.equal((await ended(meanwhile.client, await waiting)).status, "succeeded");
    await untilGone(old.connection.pid);
    assert.equal(await readConnection(here.standIn.folder), undefined);
    const after = await here.new();
    assert.equal(after.connection.version, "0.10.0");
    assert.equal((await after.client.org(never)).usage.runsToday, 2);
  });

  it("that is newer is used as it is by an older face, also by one that reconnects after the hand-over", async () => {
    await using here = await machine();
    const old = await here.old();
    const broken = assert.rejects(
      watchEvents(
        old.client,
        () => {},
        () => {},
        never,
      ),
      { type: "out-of-reach" },
    );
    const { connection } = await here.new();
    await broken;
    for (const face of [here.old, here.new, here.old, here.new]) {
      assert.deepEqual((await face()).connection, connection);
    }
    assert.equal(here.standIn.pids.length, 2);
  });

  it("comes to the newest, whichever of two faces is first, and stays", async () => {
    await using here = await machine();
    await Promise.all([here.old(), here.new()]);
    const { connection } = await here.new();
    assert.equal(connection.version, "0.10.0");
    const faces = await Promise.all([here.old(), here.new(), here.old(), here.new()]);
    for (const face of faces) assert.equal(face.connection.instance, connection.instance);
  });

  it("is followed by the face's own within a start, where the program of its runs was removed", async () => {
    await using here = await machine();
    const gone = join(here.standIn.servicePath, "..", "gone.mjs");
    const runnerPath = join(here.standIn.servicePath, "..", "runner.ts");
    await symlink(lateRunnerPath, runnerPath);
    await writeFile(gone, program("0.4.0", runnerPath));
    const deps = here.standIn.deps({ version: "0.4.0", servicePath: gone });
    const client = await here.client(await connectEmbedded(deps, never));
    await rm(runnerPath);
    await here.write("hello", programPipeline(""));
    const reconnect = async () => (await here.old()).client;
    const start = await startRun({ pipeline: "hello" }, { client, reconnect, onWaiting: () => {} }, never);
    assert.equal(start.kind, "started");
    const { client: next } = await here.old();
    assert.notEqual(next.apiKey, client.apiKey);
    assert.equal((await next.org(never)).usage.runsToday, 1);
  });

  it("that a person has started stays, and is used as it is", async () => {
    const foreground = program("0.4.0").replace(
      "await serveMachine",
      'process.argv = process.argv.filter((word) => word !== "--idle-exit");\nawait serveMachine',
    );
    await using standIn = await standInFor(foreground);
    const deps = standIn.deps({ version: "0.10.0" });
    const first = await connectEmbedded(deps, never);
    const second = await connectEmbedded(deps, never);
    assert.deepEqual(second.connection, first.connection);
    assert.equal(standIn.pids.length, 1);
  });

  it("isn't asked to leave by a face that runs from its sources", async () => {
    await using here = await machine();
    const old = await here.old();
    const face = await connectEmbedded(here.standIn.deps({ version: undefined }), never);
    assert.deepEqual(face.connection, old.connection);
    assert.notEqual(await findEmbedded(here.standIn.deps(), never), undefined);
  });
});
