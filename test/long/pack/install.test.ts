import assert from "node:assert/strict";
import { execa } from "execa";
import { npmCommand } from "../../../scripts/process/npm.ts";
import { projectRoot } from "../../../scripts/projectRoot.ts";

/** What npm takes the Node.js that runs it for. */
const asNode20 = `--import=data:text/javascript,${encodeURIComponent(
  'Object.defineProperty(process, "version", { value: "v20.16.0" });',
)}`;

describe("npm install in this repository", () => {
  it("says nothing of an older Node.js, since it brings the one that is used", async () => {
    const [npm, ...leading] = npmCommand(process.env);
    const installed = await execa(
      npm,
      [...leading, "install", "--dry-run", "--offline", "--ignore-scripts"],
      {
        cwd: projectRoot,
        env: { NODE_OPTIONS: asNode20, npm_config_loglevel: undefined },
        reject: false,
      },
    );
    assert.deepEqual([installed.exitCode, installed.stderr], [0, ""]);
  });
});
