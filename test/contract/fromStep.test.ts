import assert from "node:assert/strict";
import { fromFailedStep, meantSteps } from "../../src/contract/fromStep.ts";

describe("the step that a run is to begin with", () => {
  it("is the one of that name, or of that number", () => {
    assert.deepEqual(meant("publish", "build", "publish"), [1]);
    assert.deepEqual(meant("2", "build", "publish"), [1]);
    assert.deepEqual(meant("2", "2", "publish"), [0], "a name comes before a number");
  });

  it("is none of another name or number", () => {
    assert.deepEqual(meant("publsh", "build", "publish"), []);
    for (const text of ["0", "3", "-1", "1.0", " 1", "01"])
      assert.deepEqual(meant(text, "build", "publish"), []);
  });

  it("may be each that has the name, which a number tells apart", () => {
    assert.deepEqual(meant("build", "build", "test", "build"), [0, 2]);
    assert.deepEqual(meant("3", "build", "test", "build"), [2]);
    assert.deepEqual(meant("2", "2", "2"), [1], "a number tells apart what is named as a number");
  });
});

describe("a new run from the step that another failed at", () => {
  it("names the step", () => assert.equal(fromOf("build", "test"), "test"));

  it("says the number of a step whose name another has, is too long or is empty", () => {
    assert.equal(fromOf("build", "test", "build"), "3");
    assert.equal(fromOf("build", "t".repeat(200)), "t".repeat(200));
    assert.equal(fromOf("build", "t".repeat(201)), "2");
    assert.equal(fromOf("build", ""), "2");
  });

  it("is not offered where the number is another step's name", () => {
    assert.equal(fromOf("3", "build", "build"), undefined);
  });

  it("is not offered for a run that was cancelled", () => {
    const step = { name: "test", type: "cli", status: "stopped" };
    assert.equal(fromFailedStep({ status: "cancelled", steps: [step] }), undefined);
  });

  it("is not offered where a step that cleans up has failed", () => {
    const step = { name: "remove", type: "cli", status: "failed", cleanup: true } as const;
    assert.equal(fromFailedStep({ status: "failed", steps: [step] }), undefined);
  });
});

function meant(fromStep: string, ...names: string[]): readonly number[] {
  return meantSteps(
    names.map((name) => ({ name })),
    fromStep,
  );
}

/** Of a run that failed at the last of the steps. */
function fromOf(...names: string[]): string | undefined {
  const steps = names.map((name, index) => ({
    name,
    type: "cli",
    status: index === names.length - 1 ? "failed" : "succeeded",
  }));
  return fromFailedStep({ status: "failed", steps })?.fromStep;
}
