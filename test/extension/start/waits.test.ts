import assert from "node:assert/strict";
import { WaitNotice, Waits } from "../../../src/extension/start/waitNotice.ts";
import { fakeWindow } from "./fakeWindow.ts";

describe("the waits of a window", () => {
  it("are told apart by their inputs", () => {
    const waits = new Waits();
    const eu = { pipeline: "deploy", inputs: { region: "eu", lamps: 2 } };
    const us = { pipeline: "deploy", inputs: { region: "us", lamps: 2 } };
    assert.notEqual(waits.starting(eu), undefined);
    assert.equal(waits.starting({ pipeline: "deploy", inputs: { lamps: 2, region: "eu" } }), undefined);
    assert.notEqual(waits.starting(us), undefined);
    waits.begin(eu, () => {}).update(100);
    assert.deepEqual(waits.find(eu)?.inputs, eu.inputs);
    assert.equal(waits.find(us), undefined);
  });

  it("that are two of one pipeline are given up one by one, the later first", () => {
    const waits = new Waits();
    const stopped: string[] = [];
    const wish = { pipeline: "nightly", project: "shop" };
    const begin = (name: string, of: typeof wish) => {
      const standing = waits.begin(of, () => {
        stopped.push(name);
        standing.end();
      });
      standing.update(100);
    };
    begin("earlier", wish);
    begin("another project's", { ...wish, project: "lamps" });
    begin("later", wish);
    waits.stop(wish);
    assert.deepEqual(stopped, ["later"]);
    waits.stop(wish);
    waits.stop(wish);
    assert.deepEqual(stopped, ["later", "earlier"]);
    assert.deepEqual(
      waits.current.value.map(({ project }) => project),
      ["lamps"],
    );
  });

  it("leave alone a request for a second one while the first goes on", () => {
    const waits = new Waits();
    const nightly = { pipeline: "nightly" };
    waits.starting(nightly);
    const first = waits.begin(nightly, () => {});
    first.update(100);
    assert.notEqual(waits.starting(nightly), undefined);
    first.update(99);
    assert.equal(waits.starting(nightly), undefined, "a double click");
  });

  it("that was stopped doesn't come back when its seconds or its place are told once more", () => {
    const waits = new Waits();
    using notice = new WaitNotice({ pipeline: "nightly" }, fakeWindow([]).window, waits);
    notice.update(120);
    waits.stop({ pipeline: "nightly" });
    notice.update(119);
    notice.updatePlace({ place: 1, waiting: 2 });
    assert.deepEqual(waits.current.value, []);
  });
});
