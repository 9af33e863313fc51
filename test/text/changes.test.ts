import assert from "node:assert/strict";
import type { Commit, Run } from "../../src/contract/run.ts";
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
      changeNotes({ commit: after }, { lastPassed: { ...lastPassed, commit: before }, diffs: {} });
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

  it("says which inputs differ, where those of the run before are known", () => {
    const notes = (before: Run["inputs"], after: Run["inputs"]) =>
      changeNotes({ inputs: after }, { lastPassed: { ...lastPassed, inputs: before }, diffs: { a: "@@" } });
    assert.deepEqual(
      notes({ expected: "open", lamps: 2, old: true }, { expected: "paid", lamps: 2, fresh: "2" }),
      [
        'The input expected was "open", and is "paid".',
        "The input old was true, and is gone.",
        'The input fresh is new, and is "2".',
      ],
    );
    assert.deepEqual(notes({ lamps: 2 }, { lamps: 2 }), []);
    assert.deepEqual(notes(undefined, { lamps: 2 }), []);
    const itself = { inputs: { at: "12:00" }, evaluatedInputs: ["at"] };
    assert.deepEqual(
      changeNotes(itself, { lastPassed: { ...lastPassed, inputs: {} }, diffs: { a: "@@" } }),
      [],
    );
    assert.match(notes({ lamps: 2 }, { lamps: "x".repeat(500) })[0] ?? "", /^.{110,120}…\.$/);
  });

  it("says what isn't known, and no more", () => {
    assert.deepEqual(changeNotes({ commit: commit("a") }, {}), [
      "No earlier run of this pipeline is known to have succeeded.",
    ]);
    assert.deepEqual(changeNotes({ commit: commit("a") }, { lastPassed }), [
      "The pipeline file of one of the two runs isn't kept.",
    ]);
    assert.deepEqual(changeNotes({}, { lastPassed, diffs: { a: "@@" } }), []);
  });

  it("puts the files that a pipeline includes below it, each under its path", () => {
    const texts = { "parts/a.yaml": "steps: []\n", "pipelines/b.yaml": "own\n" };
    assert.equal(ranText({ path: "pipelines/b.yaml", texts }), "own\n\n# parts/a.yaml\nsteps: []\n");
  });
});
