import assert from "node:assert/strict";
import * as fc from "fast-check";
import {
  actorText,
  agentName,
  agentSchema,
  failureInReason,
  listedReason,
  reasonLine,
  reasonText,
  runSchema,
  servedRunSchema,
  startedBy,
} from "../../src/contract/run.ts";
import { isActive, runStatuses } from "../../src/contract/runStatus.ts";
import { fromWire, kebabCase } from "../../src/contract/wire.ts";
import { holds } from "./holds.ts";

describe("a run", () => {
  it("holds its slot while running and while cancelling, and in no other known status", () => {
    const inWork = runStatuses.filter((status) => isActive({ status, stoppedAt: undefined }));
    assert.deepEqual(inWork, ["running", "cancelling"]);
  });

  it("of an unknown status is in work only while it has no stopped-at", () => {
    const unknown = fc.string().filter((status) => !runStatuses.some((known) => known === status));
    holds(
      fc.property(unknown, (status) => {
        assert.equal(isActive({ status, stoppedAt: undefined }), true);
        assert.equal(isActive({ status, stoppedAt: "2026-01-01T00:00:00Z" }), false);
      }),
    );
  });

  it("may have been started by an agent of any name, of which the header takes what is printable", () => {
    holds(
      fc.property(fc.string({ unit: "binary", maxLength: 300 }), (name) => {
        const sent = agentName(name);
        if (sent === undefined) assert.match(name, /^ *$/);
        else assert.equal(agentSchema.parse(sent), sent);
      }),
    );
    assert.equal(agentName(" Some Agent 2 "), "Some Agent 2");
    assert.equal(agentName("ag\nent"), "ag?ent");
  });

  it("was cancelled by you, for the key that cancelled it, and by that key for any other", () => {
    const reason = "cancelled by key_1";
    assert.equal(reasonText({ reason }, "key_1"), "cancelled by you");
    for (const me of ["key_10", "key_", "", undefined]) assert.equal(reasonText({ reason }, me), reason);
    assert.equal(reasonText({}, "key_1"), undefined);
  });

  it("was cancelled by the name of another key, where that has one", () => {
    const run = { reason: "cancelled by key_1", cancellerName: "ada" };
    assert.equal(reasonText(run, "key_2"), "cancelled by ada");
    assert.equal(reasonText(run, "key_1"), "cancelled by you");
    assert.equal(reasonText({ ...run, reason: "only: exited with 1" }, "key_2"), "only: exited with 1");
  });

  it("is told by the first line of its reason, without what a program has printed", () => {
    assert.equal(
      reasonLine({ reason: "only: exited\twith 3:\nthe output" }, undefined),
      "only: exited with 3",
    );
    assert.equal(reasonLine({}, "key_1"), undefined);
    const cancelled = { reason: "cancelled by key_1" };
    assert.equal(listedReason(cancelled, "key_1"), undefined, "the status says it");
    assert.equal(listedReason(cancelled, "key_2"), "cancelled by key_1");
  });

  it("was started by a name, by an id, or by nobody", () => {
    assert.equal(actorText({ actor: "key_1", actorName: "ada" }), "ada");
    assert.equal(actorText({ actor: "key_1" }), "key_1");
    assert.equal(actorText({ actorName: "ada" }), undefined);
    assert.equal(startedBy({ actor: "key_1", actorName: "ada" }), "ada (key_1)");
    assert.equal(startedBy({ actor: "key_1", actorName: "ada" }, "key_1"), "you (key_1)");
    assert.equal(startedBy({ actor: "key_1" }, "key_2"), "key_1");
    assert.equal(startedBy({}, undefined), undefined);
  });

  it("has no name from a service that sends what is none", () => {
    for (const name of ["", "n".repeat(101), "a\u0007b", 7, null]) {
      const read = fromWire(runSchema, { "run-id": "r", status: "running", actor: "k", "actor-name": name });
      assert(read.kind === "valid" && read.value.actorName === undefined && read.value.actor === "k");
    }
  });

  it("repeats as its reason the message of the step that failed, or says something else", () => {
    const step = { name: "only", type: "cli", status: "failed", message: "exited with 1" };
    const run = { status: "failed", steps: [{ ...step, status: "succeeded" }, step] };
    assert.deepEqual(failureInReason({ ...run, reason: "only: exited with 1" }), { index: 1, step });
    assert.equal(failureInReason({ ...run, reason: "exited with 1" }), undefined);
    assert.equal(failureInReason({ ...run, status: "cancelled", reason: "only: exited with 1" }), undefined);
  });

  const run = {
    "run-id": "run_1",
    pipeline: "nightly",
    project: "lamps",
    status: "pondering",
    actor: "key_1",
    runner: "local",
    "created-at": "2026-01-01T00:00:00Z",
    "time-limit-seconds": 30,
  };

  it("keeps a status that nobody knows as it is", () => {
    const read = fromWire(runSchema, run);
    assert.equal(read.kind === "valid" && read.value.status, "pondering");
  });

  it("is read from what is given of it, and from nothing that a service writes in place of the rest", () => {
    const given = { "run-id": "7", status: "done", actor: "a" };
    const expected = { kind: "valid", value: { runId: "7", status: "done", actor: "a" } };
    assert.deepEqual(fromWire(runSchema, given), expected);
    for (const name of Object.keys(servedRunSchema.shape).map(kebabCase)) {
      if (["run-id", "status", "actor"].includes(name)) continue;
      // An output is any JSON.
      const odds = [null, Number.NaN, true, ...(name === "outputs" ? [] : [{ deep: [] }])];
      for (const odd of odds) {
        const read = fromWire(runSchema, { ...given, [name]: odd });
        assert.deepEqual(JSON.parse(JSON.stringify(read)), expected, `${name}: ${odd}`);
        assert.equal(fromWire(servedRunSchema, { ...run, [name]: odd }).kind, "invalid", name);
      }
    }
    assert.equal(fromWire(runSchema, { "run-id": "7", status: "done" }).kind, "valid");
    for (const name of ["run-id", "status"]) {
      assert.equal(fromWire(runSchema, { ...given, [name]: undefined }).kind, "invalid");
    }
  });

  it("may have times with an offset, but only real ones", () => {
    for (const time of ["2026-01-01T02:00:00+02:00", "2026-01-01T00:00:00.123456Z"]) {
      assert.equal(fromWire(runSchema, { ...run, "created-at": time }).kind, "valid");
    }
    for (const time of ["1", "yesterday", "2026-01-01", "2026-13-01T00:00:00Z", ""]) {
      assert.deepEqual(fromWire(servedRunSchema, { ...run, "created-at": time }), {
        kind: "invalid",
        problem: "`created-at`: expected an RFC 3339 time",
      });
    }
  });
});
