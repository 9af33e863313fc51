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
      assert.equal(find({}, "tools/my-browser"), path);
      assert.equal(find({}, path), path);
      assert.equal(find({ PATH: `/nowhere:${join(folder.path, "tools")}` }, "my-browser"), path);
    },
  );

  itOn("posix", "is the one that the environment names, unless the resource names one", async () => {
    const theirs = await program("theirs");
    const ours = await program("ours");
    assert.equal(find({ PIPELINE_BROWSER: theirs }), theirs);
    assert.equal(find({ PIPELINE_BROWSER: theirs }, ours), ours);
  });

  itOn("linux", "is on Linux the best known on the PATH", async () => {
    const chromium = await program("first", "chromium");
    const chrome = await program("second", "google-chrome");
    const path = `${join(folder.path, "first")}:${join(folder.path, "second")}`;
    assert.equal(find({ PATH: path }), chrome);
    assert.equal(find({ PATH: join(folder.path, "first") }), chromium);
  });

  itOn("linux", "is on macOS an app of the user's, too", async () => {
    const app = ["Applications", "Chromium.app", "Contents", "MacOS", "Chromium"];
    const path = await program(...app);
    assert.equal(find({ HOME: folder.path }, undefined, "darwin"), path);
  });

  it("that is named but isn't there is told with who names it", async () => {
    assert.throws(() => find({}, "tools/none"), {
      name: "StepFault",
      message: "the resource's `executable` is `tools/none`, but there is no such program",
    });
    assert.throws(() => find({ PATH: "/nowhere", PIPELINE_BROWSER: "no-such-browser" }), {
      name: "StepFault",
      message: "PIPELINE_BROWSER is `no-such-browser`, but there is no such program on the PATH",
    });
    assert.throws(() => find({}, folder.path), { name: "StepFault" }, "a folder is no program");
  });

  it("that isn't there at all is told in one sentence with what to install", async () => {
    assert.throws(() => find({ ProgramFiles: join(folder.path, "none") }, undefined, "win32"), {
      name: "StepFault",
      message:
        "there is no browser on this machine: neither Chrome, Chromium nor Edge is where they are usually installed; install one of them, or put the path of one into `PIPELINE_BROWSER` or the resource's `executable`",
    });
  });
});
