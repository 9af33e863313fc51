import assert from "node:assert/strict";
import * as fc from "fast-check";
import * as z from "zod/mini";
import { orgSchema } from "../../src/contract/org.ts";
import type { PipelineList } from "../../src/contract/pipelines.ts";
import { pipelineListSchema, servedPipelineListSchema } from "../../src/contract/pipelines.ts";
import type { StartRequest } from "../../src/contract/run.ts";
import { runSchema, startRequestSchema } from "../../src/contract/run.ts";
import { fromWire, toWire } from "../../src/contract/wire.ts";
import { orgs, plain, runs, text } from "./arbitraries.ts";
import { holds } from "./holds.ts";

const named = fc.string({ minLength: 1, maxLength: 40 });

const startRequests: fc.Arbitrary<StartRequest> = fc.record(
  { pipeline: named, project: named, timeLimitSeconds: fc.integer({ min: 1, max: 3600 }) },
  { requiredKeys: ["pipeline"], noNullPrototype: true },
);

const pipelineLists: fc.Arbitrary<PipelineList> = fc.record(
  {
    pipelines: fc.array(
      fc.record(
        {
          name: text,
          project: text,
          path: text,
          resourceTypes: fc.array(text, { maxLength: 3 }),
          problem: text,
        },
        { requiredKeys: ["name", "project", "path", "resourceTypes"], noNullPrototype: true },
      ),
      { maxLength: 4 },
    ),
  },
  plain,
);

const orgOnWire = {
  "org-id": "org_1",
  "org-name": "Lamps",
  tier: "free",
  limits: { "parallel-runs": 1, "runs-per-day": 50 },
  usage: { "runs-today": 7 },
  actor: "key_1",
};

function problemOf<T>(schema: z.ZodMiniType<T>, body: unknown): string {
  const read = fromWire(schema, body);
  assert.equal(read.kind, "invalid");
  return read.kind === "invalid" ? read.problem : "";
}

describe("the wire", () => {
  it("has kebab-case names where TypeScript has camelCase", () => {
    const read = fromWire(orgSchema, orgOnWire);
    assert.deepEqual(read, {
      kind: "valid",
      value: {
        orgId: "org_1",
        orgName: "Lamps",
        tier: "free",
        limits: { parallelRuns: 1, runsPerDay: 50 },
        usage: { runsToday: 7 },
        actor: "key_1",
      },
    });
    assert.deepEqual(read.kind === "valid" && toWire(read.value), orgOnWire);
  });

  const kinds: [string, z.ZodMiniType<unknown>, fc.Arbitrary<unknown>][] = [
    ["an org", orgSchema, orgs],
    ["a run", runSchema, runs],
    ["a request to start", startRequestSchema, startRequests],
    ["a list of pipelines", pipelineListSchema, pipelineLists],
  ];
  for (const [name, schema, values] of kinds) {
    it(`brings ${name} back as it was sent`, () => {
      holds(
        fc.property(values, (value) => {
          const travelled: unknown = JSON.parse(JSON.stringify(toWire(value)));
          assert.deepEqual(fromWire(schema, travelled), { kind: "valid", value });
        }),
      );
    });
  }

  it("refuses what a request may not have, so that a slip of the pen is not a wish without it", () => {
    assert.equal(
      problemOf(startRequestSchema, { pipeline: "hello", "time-limit-second": 5 }),
      "the body may not have `time-limit-second`",
    );
  });

  it("drops what it doesn't know, so that a service may grow", () => {
    const read = fromWire(orgSchema, {
      ...orgOnWire,
      "shoe-size": 44,
      limits: { ...orgOnWire.limits, x: [] },
    });
    assert.deepEqual(read, fromWire(orgSchema, orgOnWire));
  });

  it("takes no name in camelCase for one of the wire, and tells it as it was written", () => {
    const { "org-id": orgId, ...others } = orgOnWire;
    assert.equal(problemOf(orgSchema, { ...others, orgId }), "`org-id` is missing (expected a string)");
    assert.equal(
      problemOf(startRequestSchema, { pipeline: "hello", timeLimitSeconds: 5 }),
      "the body may not have `timeLimitSeconds`",
    );
  });

  it("says that a field is missing, by its name on the wire", () => {
    assert.equal(
      problemOf(orgSchema, { ...orgOnWire, usage: {} }),
      "`usage.runs-today` is missing (expected a whole number)",
    );
  });

  it("says what a field of the wrong type should be", () => {
    for (const wrong of ["seven", 1.5, null, [7], Number.NaN]) {
      assert.equal(
        problemOf(orgSchema, { ...orgOnWire, usage: { "runs-today": wrong } }),
        "`usage.runs-today` should be a whole number",
      );
    }
    assert.equal(problemOf(orgSchema, { ...orgOnWire, limits: null }), "`limits` should be an object");
  });

  it("says when the whole body is something else", () => {
    for (const body of [null, [], "org", 7, undefined]) {
      assert.equal(problemOf(orgSchema, body), "the body should be an object");
    }
  });

  it("names the bound that a number or a text passes", () => {
    assert.equal(
      problemOf(startRequestSchema, { pipeline: "a", "time-limit-seconds": 3601 }),
      "`time-limit-seconds` is too large: at most 3600",
    );
    assert.equal(
      problemOf(startRequestSchema, { pipeline: "a", "time-limit-seconds": 1e308 }),
      "`time-limit-seconds` is too large: at most 3600",
    );
    assert.equal(
      problemOf(startRequestSchema, { pipeline: "a", "time-limit-seconds": 0 }),
      "`time-limit-seconds` is too small: more than 0",
    );
    assert.equal(
      problemOf(startRequestSchema, { pipeline: "" }),
      "`pipeline` is too short: at least 1 character",
    );
    assert.equal(
      problemOf(startRequestSchema, { pipeline: "a".repeat(201) }),
      "`pipeline` is too long: at most 200 characters",
    );
  });

  it("names the row of a list that is wrong", () => {
    const row = { name: "a", project: "p", path: "a.yaml", "resource-types": ["http"], inputs: [], tags: [] };
    assert.equal(
      problemOf(servedPipelineListSchema, { pipelines: [row, { ...row, "resource-types": [1] }] }),
      "`pipelines.1.resource-types.0` should be a string",
    );
  });

  it("never shows a number that was not sent", () => {
    holds(
      fc.property(fc.jsonValue(), (sent) => {
        const read = fromWire(orgSchema, { ...orgOnWire, usage: { "runs-today": sent } });
        const isCount = typeof sent === "number" && Number.isSafeInteger(sent) && sent >= 0;
        assert.equal(read.kind, isCount ? "valid" : "invalid");
        if (read.kind === "valid") assert.equal(read.value.usage.runsToday, sent);
      }),
    );
  });

  it("survives any JSON, and JSON nested without end", () => {
    holds(fc.property(fc.jsonValue(), (body) => fromWire(runSchema, body).kind === "invalid"));
    const nested: unknown = JSON.parse("[".repeat(200_000) + "]".repeat(200_000));
    assert.equal(fromWire(runSchema, nested).kind, "invalid");
    assert.equal(fromWire(orgSchema, { ...orgOnWire, deep: nested }).kind, "valid");
  });

  it("says of what is one of several what they are", () => {
    const schema = z.object({ size: z.enum(["small", "large"]) });
    assert.deepEqual(fromWire(schema, { size: "huge" }), {
      kind: "invalid",
      problem: "`size` should be one of `small`, `large`",
    });
  });

  it("takes no other name for a field of the prototype", () => {
    const read = fromWire(orgSchema, JSON.parse('{"__proto__":{"tier":"gold"},"constructor":1}'));
    assert.equal(read.kind, "invalid");
  });

  it("says the same where another program in the process has set a language for zod", () => {
    const said = () => fromWire(z.object({ ok: z.literal(false) }), { ok: true });
    const before = said();
    z.config(z.locales.de());
    try {
      assert.deepEqual(said(), before);
    } finally {
      z.config({ localeError: undefined });
    }
    assert.deepEqual(before, { kind: "invalid", problem: "`ok` is not valid" });
  });
});
