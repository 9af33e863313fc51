import assert from "node:assert/strict";
import { describeError, errorTypes, isErrorType, PipelineError } from "../../src/contract/errors.ts";

describe("the errors", () => {
  it("have the HTTP statuses and exit codes of the contract", () => {
    const registry = Object.entries(errorTypes).map(([type, { httpStatus, exitCode }]) => [
      type,
      httpStatus,
      exitCode,
    ]);
    assert.deepEqual(registry, [
      ["unauthorized", 401, 3],
      ["forbidden", 403, 3],
      ["not-found", 404, 2],
      ["conflict", 409, 2],
      ["payload-too-large", 413, 2],
      ["invalid-request", 400, 2],
      ["too-many-runs", 429, 5],
      ["internal", 500, 4],
      ["out-of-reach", undefined, 4],
      ["breaks-contract", undefined, 4],
      ["not-supported", undefined, 4],
      ["usage", undefined, 2],
    ]);
  });

  it("all say what to do next, in a sentence", () => {
    for (const { next } of Object.values(errorTypes)) assert.match(next, /^[A-Z].*\.$/);
  });

  it("keep their cause, and take a next step of their own", () => {
    const cause = new Error("below");
    const error = new PipelineError("internal", "It broke.", { cause, next: "Mend it." });
    assert.equal(error.cause, cause);
    assert.equal(describeError(error), "It broke. Mend it.");
    assert.equal(describeError(new PipelineError("usage", "What?")), "What? See `pipeline --help`.");
  });

  it("are told without a stack, whatever was thrown", () => {
    assert.equal(describeError(new Error("plain")), "plain");
    assert.equal(describeError("a text"), "a text");
    assert.equal(describeError(undefined), "undefined");
  });

  it("are known by name, and nothing inherited is one of them", () => {
    assert.ok(isErrorType("conflict"));
    for (const text of ["toString", "__proto__", "constructor", "", "Conflict"])
      assert.ok(!isErrorType(text));
  });
});
