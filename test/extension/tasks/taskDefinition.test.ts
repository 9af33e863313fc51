import assert from "node:assert/strict";
import { readTaskDefinition } from "../../../src/extension/tasks/taskDefinition.ts";

describe("the definition of a task", () => {
  it("names a pipeline, and may name its project and a time limit in seconds or as a pipeline file writes it", () => {
    const read = (more: object) => readTaskDefinition({ type: "pipeline", pipeline: "nightly", ...more });
    const least = { pipeline: "nightly", project: undefined, timeLimitSeconds: undefined };
    assert.deepEqual(read({}), least);
    assert.deepEqual(read({ project: "shop", timeLimit: 90 }), {
      ...least,
      project: "shop",
      timeLimitSeconds: 90,
    });
    assert.equal(read({ timeLimit: "5m" }).timeLimitSeconds, 300);
    assert.equal(read({ timeLimit: "1h" }).timeLimitSeconds, 3600);
  });

  it("says which property can't be used", () => {
    const wrong = (definition: unknown) => {
      try {
        readTaskDefinition(definition);
        return "nothing";
      } catch (error) {
        return error instanceof Error ? error.message : "";
      }
    };
    assert.equal(wrong({}), "The task's property \"pipeline\" can't be used.");
    assert.equal(wrong(undefined), "The task's property \"pipeline\" can't be used.");
    assert.equal(
      wrong({ pipeline: "a", project: "x".repeat(201) }),
      "The task's property \"project\" can't be used.",
    );
    for (const timeLimit of [0, 1.5, 3601, "2h", "soon", -1, Number.NaN, true]) {
      assert.equal(
        wrong({ pipeline: "a", timeLimit }),
        "The task's property \"timeLimit\" can't be used.",
        String(timeLimit),
      );
    }
  });
});
