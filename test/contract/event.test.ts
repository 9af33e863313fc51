import assert from "node:assert/strict";
import * as fc from "fast-check";
import { readEvent } from "../../src/contract/service.ts";
import { toWire } from "../../src/contract/wire.ts";
import { orgs, runs } from "./arbitraries.ts";
import { holds } from "./holds.ts";

describe("an event", () => {
  it("tells the org or a run", () => {
    holds(
      fc.property(orgs, (org) => {
        const read = readEvent("org", JSON.stringify(toWire(org)));
        assert.deepEqual(read, { kind: "valid", value: { kind: "org", org } });
      }),
    );
    holds(
      fc.property(runs, (run) => {
        const read = readEvent("run", JSON.stringify(toWire(run)));
        assert.deepEqual(read, { kind: "valid", value: { kind: "run", run } });
      }),
    );
  });

  it("of another name is passed over", () => {
    assert.equal(readEvent("weather", "rain"), undefined);
  });

  it("that is broken names what is wrong", () => {
    assert.deepEqual(readEvent("org", "{"), {
      kind: "invalid",
      problem: "the data of an `org` event is not JSON",
    });
    assert.deepEqual(readEvent("run", "{}"), {
      kind: "invalid",
      problem: "`run-id` is missing (expected a string)",
    });
  });
});
