import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { temporaryFolder } from "../../temporaryFolder.ts";

describe("the outputs of a program", () => {
  if (process.platform !== "linux") return;
  const folder = temporaryFolder();

  /** @returns what a process with so few descriptors finds: whether the outputs are pipes, and how many more are open than before. */
  function opened(descriptors: number): unknown {
    const module = new URL("../../../src/runner/cli/openOutputs.ts", import.meta.url).href;
    const script = `
      const { fstatSync } = await import("node:fs");
      const open = () => Array.from({ length: ${descriptors} }, (_, fd) => {
        try { return fstatSync(fd) !== undefined } catch { return false }
      }).filter(Boolean).length;
      const { openOutputs } = await import(${JSON.stringify(module)});
      const before = open();
      const { stdio } = await openOutputs({ platform: "linux" });
      console.log(JSON.stringify({ arePipes: typeof stdio[0] === "number", more: open() - before }));`;
    const { stdout, stderr } = spawnSync(
      "/bin/sh",
      [
        "-c",
        `ulimit -n ${descriptors}; exec "$0" "$@"`,
        process.execPath,
        "--input-type=module",
        "-e",
        script,
      ],
      { encoding: "utf8", env: { ...process.env, TMPDIR: folder.path } },
    );
    assert.equal(stderr, "");
    return JSON.parse(stdout);
  }

  it("are pipes, of which no name is left", () => {
    assert.deepEqual(opened(200), { arePipes: true, more: 32 });
    assert.deepEqual(readdirSync(folder.path), []);
  });

  it("hold nothing open where not all pipes can be opened", () => {
    assert.deepEqual(opened(48), { arePipes: false, more: 0 });
    assert.deepEqual(readdirSync(folder.path), []);
  });
});
