import assert from "node:assert/strict";
import fc from "fast-check";
import { artifactOf, artifactUri, logUri, runIdOf } from "../../../src/extension/log/runUri.ts";

const id = fc.string({ unit: "binary", minLength: 1 }).filter((text) => text.isWellFormed());

describe("the address of a run's log", () => {
  it("has the pipeline and the end of the run's id as its name, for the tab", () => {
    assert.deepEqual(logUri("run_01m7ynnb6avqdxsq424908pczr", "nightly"), {
      scheme: "pipeline-run-log",
      path: "/pipeline-run-log/run_01m7ynnb6avqdxsq424908pczr/nightly-08pczr.log",
    });
  });

  it("leads back to the run, whatever the run and its pipeline are called", () => {
    fc.assert(
      fc.property(id, fc.string({ unit: "binary" }), (runId, pipeline) => {
        const uri = logUri(runId, pipeline);
        assert.equal(runIdOf(uri), runId);
        assert.equal(uri.path.split("/").length, 4);
        assert(uri.path.isWellFormed());
      }),
    );
  });

  it("is none of a run for any other path", () => {
    for (const path of [
      "/",
      "/pipeline-run-log",
      "/pipeline-run-log/run_1",
      "/other/run_1/a.log",
      "/pipeline-run-log/%/a",
    ]) {
      assert.equal(runIdOf({ scheme: "pipeline-run-log", path }), undefined, path);
    }
    assert.equal(runIdOf({ scheme: "file", path: "/pipeline-run-log/run_1/a.log" }), undefined);
  });
});

describe("the address of a kept file", () => {
  const kept = (name: string, mediaType: string) =>
    artifactUri("run_1", { file: "0-1", name, mediaType }).path.split("/").at(-1);

  it("ends as its kind does, so that no name decides what the editor opens it with", () => {
    assert.equal(kept("shop.png", "image/png"), "shop.png");
    assert.equal(kept("shop.JPEG", "image/jpeg"), "shop.JPEG");
    assert.equal(kept("reply", "application/json; charset=utf-8"), "reply.json");
    assert.equal(kept("evil.ipynb", "text/html"), "evil.ipynb.txt");
    assert.equal(kept("lamps", "__proto__"), "lamps.txt");
    assert.equal(kept("lamps", "constructor"), "lamps.txt");
    assert.equal(kept("../../x.code-workspace", "text/plain"), "x.code-workspace.txt");
  });

  it("leads back to the run and the file", () => {
    fc.assert(
      fc.property(id, id, fc.string({ unit: "binary" }), fc.string(), (runId, file, name, mediaType) => {
        assert.deepEqual(artifactOf(artifactUri(runId, { file, name, mediaType })), { runId, file });
      }),
    );
  });
});
