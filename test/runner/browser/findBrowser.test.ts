import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { findBrowser } from "../../../src/runner/browser/startBrowser.ts";
import { itOn } from "../../itOn.ts";
import { temporaryFolder } from "../../temporaryFolder.ts";

describe("the browser of a browser step", () => {
  const folder = temporaryFolder();
  const find = (
    environment: Record<string, string>,
    executable?: string,
    platform: NodeJS.Platform = "linux",
  ) => findBrowser({ executable, root: folder.path, environment, platform });
  const program = async (...parts: string[]) => {
    const path = join(folder.path, ...parts);
    await mkdir(join(path, ".."), { recursive: true });
    await writeFile(path, "#!/bin/sh\n", { mode: 0o755 });
    return path;
  };

  itOn(
    "posix",
    "is the one that the resource names, by a path against the project's folder or on the PATH",
    async () => {
      const path = await program("tools", "my-browser");
      assert.deepEqual(await find({}, "tools/my-browser"), { kind: "found", path });
      assert.deepEqual(await find({}, path), { kind: "found", path });
      assert.deepEqual(await find({ PATH: `/nowhere:${join(folder.path, "tools")}` }, "my-browser"), {
        kind: "found",
        path,
      });
    },
  );

  itOn("posix", "is the one that the environment names, unless the resource names one", async () => {
    const theirs = await program("theirs");
    const ours = await program("ours");
    assert.deepEqual(await find({ PIPELINE_BROWSER: theirs }), { kind: "found", path: theirs });
    assert.deepEqual(await find({ PIPELINE_BROWSER: theirs }, ours), { kind: "found", path: ours });
  });

  itOn("linux", "is on Linux the best known on the PATH", async () => {
    const chromium = await program("first", "chromium");
    const chrome = await program("second", "google-chrome");
    const path = `${join(folder.path, "first")}:${join(folder.path, "second")}`;
    assert.deepEqual(await find({ PATH: path }), { kind: "found", path: chrome });
    assert.deepEqual(await find({ PATH: join(folder.path, "first") }), { kind: "found", path: chromium });
  });

  itOn("linux", "is on macOS an app of the user's, too", async () => {
    const app = ["Applications", "Chromium.app", "Contents", "MacOS", "Chromium"];
    const path = await program(...app);
    assert.deepEqual(await find({ HOME: folder.path }, undefined, "darwin"), { kind: "found", path });
  });

  it("that is named but isn't there is told with who names it", async () => {
    assert.deepEqual(await find({}, "tools/none"), {
      kind: "none",
      problem: "the resource's `executable` is `tools/none`, but there is no such program",
    });
    assert.deepEqual(await find({ PATH: "/nowhere", PIPELINE_BROWSER: "no-such-browser" }), {
      kind: "none",
      problem: "PIPELINE_BROWSER is `no-such-browser`, but there is no such program on the PATH",
    });
    assert.equal((await find({}, folder.path)).kind, "none", "a folder is no program");
  });

  it("that isn't there at all is told in one sentence with what to install", async () => {
    assert.deepEqual(await find({ ProgramFiles: join(folder.path, "none") }, undefined, "win32"), {
      kind: "none",
      problem:
        "there is no browser on this machine: neither Chrome, Chromium nor Edge is where they are usually installed; install one of them, or put the path of one into `PIPELINE_BROWSER` or the resource's `executable`",
    });
  });
});
