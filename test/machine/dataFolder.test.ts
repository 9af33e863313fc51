import assert from "node:assert/strict";
import { join, resolve } from "node:path";
import type { PipelineError } from "../../src/contract/errors.ts";
import { dataFolder, userFolder } from "../../src/machine/dataFolder.ts";

describe("the embedded service's folder", () => {
  it("is of the working folder when PIPELINE_DATA_DIR is relative, since the service works in another", () => {
    assert.equal(dataFolder({ PIPELINE_DATA_DIR: "data/mine" }), join(process.cwd(), "data", "mine"));
    assert.equal(dataFolder({ PIPELINE_DATA_DIR: "." }), process.cwd());
  });

  it("is the one that is named, or the user's own", () => {
    const named = resolve("/somewhere/else");
    assert.equal(dataFolder({ PIPELINE_DATA_DIR: named }), named);
    assert.equal(dataFolder({ PIPELINE_DATA_DIR: "" }), dataFolder({}));
  });

  it("is where the system keeps such folders, as are a user's settings", () => {
    const folders = (platform: string, env: Record<string, string>) =>
      (["data", "config"] as const).map((what) =>
        userFolder(what, env, { platform, home: () => "/h" }).replaceAll("\\", "/"),
      );
    assert.deepEqual(folders("linux", {}), ["/h/.local/share/pipeline-runs", "/h/.config/pipeline-runs"]);
    assert.deepEqual(folders("linux", { XDG_DATA_HOME: "/d", XDG_CONFIG_HOME: "/c" }), [
      "/d/pipeline-runs",
      "/c/pipeline-runs",
    ]);
    assert.deepEqual(folders("linux", { XDG_DATA_HOME: "d", XDG_CONFIG_HOME: "./c" }), folders("linux", {}));
    assert.deepEqual(folders("darwin", { XDG_DATA_HOME: "/d" }), [
      "/h/Library/Application Support/pipeline-runs",
      "/h/Library/Preferences/pipeline-runs",
    ]);
    assert.deepEqual(folders("win32", { APPDATA: "/r" }), [
      "/h/AppData/Local/pipeline-runs/Data",
      "/r/pipeline-runs/Config",
    ]);
  });

  it("is the same in VS Code from a snap, which has XDG folders of its own and of its version, as in a terminal", () => {
    const folder = (env: Record<string, string>) =>
      userFolder("data", env, { platform: "linux", home: () => "/h" }).replaceAll("\\", "/");
    const snap = {
      SNAP: "/snap/code/211",
      SNAP_USER_DATA: "/h/snap/code/211",
      SNAP_USER_COMMON: "/h/snap/code/common",
      XDG_DATA_HOME: "/h/snap/code/211/.local/share",
    };
    assert.equal(folder(snap), folder({}));
    assert.equal(folder({ ...snap, XDG_DATA_HOME_VSCODE_SNAP_ORIG: "/d" }), "/d/pipeline-runs");
    assert.equal(folder({ ...snap, XDG_DATA_HOME: "/h/snap/code/211x" }), "/h/snap/code/211x/pipeline-runs");
  });

  it("is in the home where PIPELINE_DATA_DIR begins with ~, which no shell has put in", () => {
    const folder = (named: string) =>
      userFolder("data", { PIPELINE_DATA_DIR: named }, { home: () => resolve("/h") });
    assert.equal(folder("~/runs"), resolve("/h/runs"));
    assert.equal(folder("~"), resolve("/h"));
    assert.equal(folder("~other/runs"), resolve("~other/runs"));
    assert.equal(folder("./~/runs"), resolve("~/runs"));
  });

  it("is asked for by name where the user has no home, as in a container, and else needs none", () => {
    // As Node does for a user that the system doesn't know, without HOME.
    const home = () => {
      throw new Error("uv_os_homedir returned ENOENT");
    };
    const asked = (what: "data" | "config") => () => userFolder(what, {}, { platform: "linux", home });
    assert.throws(asked("data"), /has no home folder for the data of Pipeline Runs\.$/);
    assert.throws(asked("config"), (error: PipelineError) =>
      /^Set HOME, or name a folder with PIPELINE_CONFIG_DIR\.$/.test(error.next ?? ""),
    );
    for (const relative of ["", "home"])
      assert.throws(() => userFolder("data", {}, { platform: "linux", home: () => relative }));
    const named = { PIPELINE_DATA_DIR: resolve("/d") };
    assert.equal(userFolder("data", named, { platform: "linux", home }), resolve("/d"));
  });
});
