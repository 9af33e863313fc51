import assert from "node:assert/strict";
import * as fc from "fast-check";
import type * as z from "zod/mini";
import { eventValue, serviceEvent } from "../../../src/client/follow/events.ts";
import { orgSchema } from "../../../src/contract/org.ts";
import { runSchema } from "../../../src/contract/run.ts";
import { toWire } from "../../../src/contract/wire.ts";
import { orgs, runs } from "../../contract/arbitraries.ts";
import { holds } from "../../contract/holds.ts";
import { orgOnWire, runOnWire, testKey } from "../loopbackService.ts";

function read(event: string, data: string) {
  return serviceEvent({ apiKey: testKey }, { id: undefined, event, data });
}

function told<T>(schema: z.ZodMiniType<T>, value: T): T {
  const data = JSON.stringify(toWire(value));
  return eventValue(schema, { id: undefined, event: "any", data }, "/any");
}

describe("an event", () => {
  it("tells the org or a run", () => {
    assert.equal(read("org", JSON.stringify(orgOnWire))?.kind, "org");
    assert.equal(read("run", JSON.stringify(runOnWire()))?.kind, "run");
    holds(fc.property(orgs, (org) => assert.deepEqual(told(orgSchema, org), org)));
    holds(fc.property(runs, (run) => assert.deepEqual(told(runSchema, run), run)));
  });

  it("of another name is passed over", () => {
    assert.equal(read("weather", "rain"), undefined);
  });

  it("that is broken names what is wrong", () => {
    const label = "GET /api/events, event";
    assert.throws(() => read("org", "{"), { message: `${label} \`org\`: the data is not JSON.` });
    assert.throws(() => read("run", "{}"), {
      type: "breaks-contract",
      message: `${label} \`run\`: \`run-id\` is missing (expected a string).`,
    });
  });
});
