import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { releaseNotes } from "../../../scripts/build/releaseNotes.ts";
import { Problem } from "../../../scripts/problem.ts";
import { projectRoot } from "../../../scripts/projectRoot.ts";

describe("the notes of a release", () => {
  it("are the first part of the changelog", async () => {
    const changelog = "# Changelog\n\n## 1.2.0\n\n### Tool\n\n- New.\n\n## 1.1.0\n\n- Old.\n";
    assert.deepEqual(releaseNotes(changelog), { title: "1.2.0", notes: "### Tool\n\n- New." });
    const { notes } = releaseNotes(await readFile(join(projectRoot, "CHANGELOG.md"), "utf8"));
    assert.match(notes, /^### /);
  });

  it("have to be written before there is a release", () => {
    for (const changelog of ["", "# Changelog\n", "## 1.2.0\n\n## 1.1.0\n\n- Old.\n"]) {
      assert.throws(() => releaseNotes(changelog), Problem);
    }
  });
});
