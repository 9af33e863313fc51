import assert from "node:assert/strict";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { listExtension } from "../../../scripts/editor/serverFolders.ts";
import { TemporaryFolder } from "../../temporaryFolder.ts";

describe("the extensions of the served editor", () => {
  it("have this one where it lies, once, beside those that a person has installed", async () => {
    await using data = await TemporaryFolder.make("served editor");
    const folder = join(data.path, "the project");
    await mkdir(folder);
    const manifest = { publisher: "one", name: "pipelines", version: "2.0.0" };
    await writeFile(join(folder, "package.json"), JSON.stringify(manifest));
    const listFile = join(data.path, "extensions/extensions.json");
    const listed = async () => JSON.parse(await readFile(listFile, "utf8"));

    await listExtension(data.path, folder);
    const ours = {
      identifier: { id: "one.pipelines" },
      version: "2.0.0",
      location: { scheme: "file", path: folder },
    };
    assert.deepEqual(await listed(), [ours]);

    const installed = {
      identifier: { id: "other.theme" },
      version: "1.0.0",
      relativeLocation: "other.theme",
    };
    await writeFile(listFile, JSON.stringify([{ ...ours, version: "1.0.0" }, installed]));
    await listExtension(data.path, folder);
    assert.deepEqual(await listed(), [installed, ours]);
  });
});
