import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { withDefinition } from "../../../src/client/start/definition.ts";
import { TemporaryFolder } from "../../temporaryFolder.ts";

describe("the files that a start sends", () => {
  it("are refused when they are too much compressed, with what to do", async () => {
    await using folder = await TemporaryFolder.make();
    await execa("git", ["init", "-q"], { cwd: folder.path });
    await mkdir(join(folder.path, "pipelines"));
    const steps = "steps: [{ use: shell, run: echo hello }]";
    await writeFile(
      join(folder.path, "pipelines/hello.yaml"),
      `resources: { shell: { type: cli } }\n${steps}\n`,
    );
    // Nothing compresses what is random.
    await writeFile(join(folder.path, "large"), randomBytes(65 * 1024 * 1024));
    const service = {
      hasSnapshot: async () => false,
      putSnapshot: async () => assert.fail("it was sent"),
    };
    await assert.rejects(
      withDefinition(
        { pipeline: "hello", project: "shop" },
        service,
        folder.path,
        AbortSignal.timeout(60_000),
      ),
      {
        type: "invalid-request",
        message: /more than 64 MiB, compressed/,
        next: /\.gitignore, or start the pipeline in a smaller folder/,
      },
    );
  });
});
