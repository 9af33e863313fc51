import assert from "node:assert/strict";
import * as fc from "fast-check";
import { readRunArgument } from "../../../src/extension/start/runArgument.ts";
import { holds } from "../../contract/holds.ts";

const named = (pipeline: string, project?: string, timeLimitSeconds?: number) => ({
  kind: "named",
  start: { pipeline, project, timeLimitSeconds, fromStep: undefined },
});

describe("the argument of Run Pipeline", () => {
  it("is a name, or a pipeline with its project and time limit, or a file; without one the person picks", () => {
    assert.deepEqual(readRunArgument(undefined), { kind: "pick" });
    assert.deepEqual(readRunArgument("nightly"), named("nightly"));
    assert.deepEqual(readRunArgument({ pipeline: "nightly", project: "shop" }), named("nightly", "shop"));
    assert.deepEqual(readRunArgument({ pipeline: "a", timeLimit: "5m" }), named("a", undefined, 300));
    assert.deepEqual(readRunArgument({ pipeline: "a", timeLimit: 90 }), named("a", undefined, 90));
    const file = { scheme: "file", fsPath: "/shop/pipelines/a.yaml", path: "/shop/pipelines/a.yaml" };
    assert.deepEqual(readRunArgument(file), { kind: "file", path: "/shop/pipelines/a.yaml" });
  });

  it("brings the values of inputs", () => {
    const inputs = { region: "eu", lamps: 2, visit: false };
    const { start } = named("deploy");
    assert.deepEqual(readRunArgument({ pipeline: "deploy", inputs }), {
      kind: "named",
      start: { ...start, inputs },
    });
    assert.deepEqual(readRunArgument({ pipeline: "deploy", inputs: {} }), named("deploy"));
  });

  it("may be the item of a view, whatever else is in it", () => {
    const item = { pipeline: "nightly", project: "shop", id: "x", children: [], timeLimit: undefined };
    assert.deepEqual(readRunArgument(item), named("nightly", "shop"));
  });

  it("is refused with what is wrong with it", () => {
    for (const [given, message] of [
      [3, /it is a number/],
      [{}, /`pipeline` is missing/],
      [{ pipeline: "" }, /`pipeline` is missing/],
      [{ pipeline: "a", project: 3 }, /`project` is missing or not/],
      [{ pipeline: "a", "time-limit": 3 }, /`time-limit` is written `timeLimit`/],
      [{ pipeline: "a", timeLimitSeconds: 3 }, /`timeLimitSeconds` is written `timeLimit`/],
      [{ pipeline: "a", timeLimit: "soon" }, /`timeLimit` is seconds or a text/],
      [{ pipeline: "a", timeLimit: 3601 }, /from 1 s to 1 h/],
      [{ pipeline: "a", timeLimit: 0 }, /from 1 s to 1 h/],
      [{ pipeline: "a", timeLimit: "1500ms" }, /from 1 s to 1 h/],
      [{ pipeline: "a", inputs: ["eu"] }, /`inputs` is not an input: a text, a number, true or false/],
      [{ pipeline: "a", inputs: { region: null } }, /`inputs\.region` is not an input/],
      [{ pipeline: "a", inputs: { "a b": 1 } }, /`inputs\.a b` is not an input/],
      [{ pipeline: "a", input: { region: "eu" } }, /`input` is written `inputs`/],
      [{ scheme: "git", fsPath: "/a.yaml", path: "/a.yaml" }, /not on this machine/],
    ] as const) {
      assert.throws(() => readRunArgument(given), { type: "invalid-request", message });
    }
  });

  it("is read or refused, whatever it is", () => {
    holds(
      fc.property(fc.anything({ maxDepth: 2 }), (given) => {
        try {
          readRunArgument(given);
        } catch (error) {
          assert.equal((error as { type?: string }).type, "invalid-request");
        }
      }),
    );
  });
});
