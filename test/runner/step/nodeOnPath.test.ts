import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { runMarker } from "../../../src/runner/processes/processTable.ts";
import { removeScratch } from "../../../src/runner/processes/scratchFolder.ts";
import { nodeOnPath } from "../../../src/runner/step/stepEnvironment.ts";
import { temporaryFolder } from "../../temporaryFolder.ts";
import { newRunId } from "../launch/launchTestRun.ts";

describe("node on a step's PATH", () => {
  if (process.platform === "win32") return;
  const folder = temporaryFolder();

  it("stays the one that is there", async () => {
    writeFileSync(join(folder.path, "node"), "", { mode: 0o755 });
    const environment = { PATH: `/nowhere:${folder.path}` };
    const found = await nodeOnPath(environment, process.execPath, "linux");
    assert.deepEqual(found.environment, environment);
    assert.equal(found.node, join(folder.path, "node"));
  });

  it("is the runner's own where there is none", async () => {
    const { environment, node } = await nodeOnPath({ PATH: folder.path }, "/opt/node/bin/node", "linux");
    assert.deepEqual(environment, { PATH: `${folder.path}:/opt/node/bin` });
    assert.equal(node, "/opt/node/bin/node");
  });

  it("is behind the system's own folders where there is no PATH at all", async () => {
    const { environment } = await nodeOnPath({}, "/opt/node/bin/node", "linux");
    assert.match(environment["PATH"] ?? "", /:\/usr\/bin:.*:\/opt\/node\/bin$/);
  });

  it("is the editor acting as one where the runner runs in an editor, until the run is over", async () => {
    mkdirSync(join(folder.path, "it's here"));
    const editor = join(folder.path, "it's here", "code");
    symlinkSync(process.execPath, editor);
    const runId = newRunId();
    const own = { PATH: "/nowhere", [runMarker]: runId };
    const { environment } = await nodeOnPath(own, editor, "linux");
    const added = environment["PATH"]?.split(":").at(-1) ?? "";
    const script = "console.log(process.env.ELECTRON_RUN_AS_NODE, process.argv[1])";
    const said = execFileSync(join(added, "node"), ["-e", script, "a b"], {
      encoding: "utf8",
      env: { PATH: dirname(process.execPath) },
    });
    assert.equal(said, "1 a b\n");
    await removeScratch(runId);
    assert.equal(existsSync(added), false);
  });
});
