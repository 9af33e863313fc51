import assert from "node:assert/strict";
import { serverEnvironment } from "../../../scripts/editor/serverFolders.ts";

describe("the environment of the served editor", () => {
  it("is the terminal's, and says so, without what another VS Code or npm left in it", () => {
    const left = {
      VSCODE_IPC_HOOK_CLI: "/tmp/socket",
      VSCODE_CLI: "0",
      ELECTRON_RUN_AS_NODE: "1",
      npm_lifecycle_event: "start",
    };
    const before = { ...process.env };
    Object.assign(process.env, left);
    try {
      const environment = serverEnvironment({ PIPELINE_DATA_DIR: "/data" });
      assert.equal(environment["PATH"], process.env["PATH"]);
      assert.equal(environment["PIPELINE_DATA_DIR"], "/data");
      // With it, VS Code starts its extension host at once; else it asks a login shell for the environment first.
      assert.equal(environment["VSCODE_CLI"], "1");
      for (const name of Object.keys(left).filter((one) => one !== "VSCODE_CLI")) {
        assert.equal(name in environment, false, name);
      }
    } finally {
      for (const name of Object.keys(left)) {
        if (before[name] === undefined) delete process.env[name];
        else process.env[name] = before[name];
      }
    }
  });
});
