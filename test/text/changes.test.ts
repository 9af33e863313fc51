import assert from "node:assert/strict";
import type { Commit } from "../../src/contract/changes.ts";
import { changeNotes, commitText, ranText } from "../../src/text/changes.ts";

const commit = (digit: string, changed = false): Commit => ({
  id: digit.repeat(40),
  branch: "main",
  changed,
});
const lastPassed = { runId: "run_1", createdAt: "2026-11-25T10:00:00Z" };

describe("what is said of a run's changes", () => {
  it("names a commit, its branch, and whether it is all", () => {
    assert.equal(commitText(commit("a")), "aaaaaaa on main");
    assert.equal(
      commitText({ id: "b".repeat(40), changed: true }),
      "bbbbbbb, with changes that aren't committed",
    );
  });

  it("gives both commits with what shows their difference, and says whether the file is the same", () => {
    const notes = (before: Commit, after: Commit) =>
      changeNotes(after, { lastPassed: { ...lastPassed, commit: before }, diffs: {} });
    const same = "The pipeline file is the same.";
    assert.deepEqual(notes(commit("a"), commit("b")), [
      "Commits aaaaaaa..bbbbbbb: `git log aaaaaaa..bbbbbbb` lists them, `git diff aaaaaaa..bbbbbbb` shows what they changed.",
      same,
    ]);
    assert.match(
      notes(commit("a", true), commit("b"))[0] ?? "",
      /There were changes that aren't committed\.$/,
    );
    assert.deepEqual(notes(commit("a"), commit("a")), ["The commit is the same, aaaaaaa.", same]);
    assert.deepEqual(notes(commit("a"), commit("a", true)), [
      "The commit is the same, aaaaaaa, with changes that aren't committed.",
      same,
    ]);
  });

  it("says what isn't known, and no more", () => {
    assert.deepEqual(changeNotes(commit("a"), {}), [
      "No earlier run of this pipeline is known to have succeeded.",
    ]);
    assert.deepEqual(changeNotes(commit("a"), { lastPassed }), [
      "The pipeline file of one of the two runs isn't kept.",
    ]);
    assert.deepEqual(changeNotes(undefined, { lastPassed, diffs: { a: "@@" } }), []);
  });

  it("puts the files that a pipeline includes below it, each under its path", () => {
    const texts = { "parts/a.yaml": "steps: []\n", "pipelines/b.yaml": "own\n" };
    assert.equal(ranText({ path: "pipelines/b.yaml", texts }), "own\n\n# parts/a.yaml\nsteps: []\n");
  });
});
