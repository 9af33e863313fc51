import assert from "node:assert/strict";
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { connectEmbedded } from "../../../src/client/embedded/connectEmbedded.ts";
import { findRuntime, ownRuntime } from "../../../src/client/embedded/findRuntime.ts";
import { itOn } from "../../itOn.ts";
import { TemporaryFolder } from "../../temporaryFolder.ts";
import { StandIn } from "./standIn.ts";

const never = new AbortController().signal;
const platform = process.platform;
/** An editor whose Node.js is good but built without SQLite, and one that is too old. */
const editor = { execPath: "/opt/editor/code", version: "22.20.0", hasSqlite: false };
const oldEditor = { execPath: "/opt/editor/code", version: "20.19.0", hasSqlite: false };

/** Folders with a program `node` each, which is a script for the shell. */
async function path(folder: TemporaryFolder, ...scripts: readonly string[]) {
  const folders = await Promise.all(
    scripts.map(async (script, index) => {
      const place = join(folder.path, String(index));
      await mkdir(place);
      await writeFile(join(place, "node"), `#!/bin/sh\n${script}\n`);
      await chmod(join(place, "node"), 0o755);
      return place;
    }),
  );
  return { env: { PATH: folders.join(delimiter) }, nodes: folders.map((place) => join(place, "node")) };
}

const says = (version: string, hasSqlite: boolean) => `echo '["${version}",${hasSqlite}]'`;
const good = `exec '${process.execPath}' "$@"`;

describe("the runtime of the embedded service", () => {
  it("is the face's own where that has SQLite, and nothing else is looked at", async () => {
    const own = ownRuntime(process.execPath);
    assert.deepEqual(own, { execPath: process.execPath, version: process.versions.node, hasSqlite: true });
    assert.equal(await findRuntime({ own, env: {}, platform }, never), process.execPath);
  });

  itOn(
    "posix",
    "is the first on the PATH that is new enough and has it, where the editor's own lacks it",
    async () => {
      await using folder = await TemporaryFolder.make();
      const { env, nodes } = await path(
        folder,
        says("20.20.2", false),
        says("22.20.0", false),
        says("22.18.9", true),
        "exit 1",
        "echo hello",
        "echo '{}'",
        good,
        good,
      );
      for (const own of [editor, oldEditor]) {
        assert.equal(await findRuntime({ own, env, platform }, never), nodes[6]);
      }
    },
  );

  itOn("posix", "is never a program in a folder that someone happens to work in", async () => {
    const env = { PATH: ["", ".", "node_modules/.bin"].join(delimiter) };
    await assert.rejects(findRuntime({ own: editor, env, platform }, never), { type: "internal" });
  });

  itOn("posix", "where there is none is told in one sentence, with what to install", async () => {
    await using folder = await TemporaryFolder.make();
    const { env, nodes } = await path(folder, says("20.20.2", false), says("23.1.0", false));
    await assert.rejects(findRuntime({ own: oldEditor, env, platform }, never), {
      type: "internal",
      message:
        "The embedded service needs Node.js 22.19 or later with node:sqlite; the one at hand is 20.19.0, " +
        `and on the PATH ${nodes[0]} is 20.20.2, ${nodes[1]} is 23.1.0 without it.`,
      next: "Install Node.js 22.19 or later so that `node` is on the PATH.",
    });
    await assert.rejects(findRuntime({ own: editor, env: {}, platform }, never), {
      message: /the one at hand is 22\.20\.0 without it, and there is no other on the PATH\.$/,
    });
  });

  itOn("posix", "starts the service, where it is another than the editor's", async () => {
    await using folder = await TemporaryFolder.make();
    const { env } = await path(folder, says("20.20.2", false), good);
    await using standIn = await StandIn.make();
    const { client } = await connectEmbedded(standIn.deps({ own: editor, env }), never);
    assert.deepEqual(await client.runs({}, never), { runs: [] });
  });

  it("stops being looked for with the signal", async () => {
    const signal = AbortSignal.abort(new Error("enough"));
    const env = { PATH: join(process.execPath, "..") };
    await assert.rejects(findRuntime({ own: editor, env, platform }, signal), /enough/);
  });
});
