import assert from "node:assert/strict";
import fc from "fast-check";
import * as z from "zod/mini";
import { shapeOf } from "../../scripts/build/shapeOf.ts";
import { connectionSchema } from "../../src/client/embedded/connection.ts";
import { healthSchema } from "../../src/contract/health.ts";
import { orgSchema } from "../../src/contract/org.ts";
import { runListSchema, runSchema } from "../../src/contract/run.ts";
import { readShape } from "../../src/contract/shape.ts";
import { shapedSchema } from "../../src/contract/shapedSchema.ts";

const schemas = { connectionSchema, healthSchema, orgSchema, runListSchema, runSchema };

const instant = fc.oneof(
  fc
    .date({ noInvalidDate: true, min: new Date(0), max: new Date("9999-12-31") })
    .map((date) => date.toISOString()),
  fc.constantFrom("2026-02-29T00:00:00Z", "2026-01-01T00:00:00+01:00", "2026-01-01", "2026-01-01T00:00Z"),
);
const text = fc.oneof(fc.string(), instant, fc.constant(""));
const address = fc.constantFrom("http://127.0.0.1:1", "http://127.0.0.1:65535", "http://127.0.0.1", "");
const any = fc.oneof(
  text,
  fc.integer(),
  fc.double(),
  fc.boolean(),
  fc.constant(null),
  fc.jsonValue({ maxDepth: 2 }),
);

/** A value of a schema whose parts are mostly as it asks, and now and then anything; the fields in any order. */
function nearly(schema: z.core.$ZodType): fc.Arbitrary<unknown> {
  const { def } = schema._zod as z.core.$ZodTypes["_zod"];
  const right = (): fc.Arbitrary<unknown> => {
    switch (def.type) {
      case "string":
        if ("check" in def) return instant;
        return def.checks === undefined ? text : address;
      case "number":
        return fc.integer({ min: -1, max: 2 ** 40 });
      case "array":
        return fc.array(nearly(def.element), { maxLength: 2 });
      case "object":
        return fc
          .record(Object.fromEntries(Object.entries(def.shape).map(([name, part]) => [name, nearly(part)])), {
            requiredKeys: Object.entries(def.shape).flatMap(([name, part]) =>
              part._zod.optin === "optional" ? [] : name,
            ),
          })
          .chain((value) =>
            fc.shuffledSubarray(Object.entries(value), { minLength: Object.keys(value).length }),
          )
          .chain((entries) => any.map((other) => Object.fromEntries([...entries, ["unknown", other]])));
      case "optional":
        return nearly(def.innerType);
      default:
        return fc.constant(true);
    }
  };
  return fc.oneof({ weight: 60, arbitrary: right() }, { weight: 1, arbitrary: any });
}

describe("the shape of a schema", () => {
  for (const [name, schema] of Object.entries(schemas)) {
    it(`takes the same values as ${name}, and makes the same of them`, () => {
      const shape = shapeOf(schema);
      let taken = 0;
      fc.assert(
        fc.property(nearly(schema), (value) => {
          const [read, parsed] = [readShape(shape, value), schema.safeParse(value)];
          assert.equal(read !== undefined, parsed.success);
          // As text, since the order of the fields is seen where they are printed.
          assert.equal(JSON.stringify(read?.value), JSON.stringify(parsed.data));
          if (parsed.success) taken += 1;
        }),
        { numRuns: 500 },
      );
      assert(taken > 50, `only ${taken} values were good ones`);
    });
  }

  it("leaves it to the schema to say what is wrong with a value", () => {
    const shaped = z
      .custom<typeof healthSchema>()
      .parse(shapedSchema(shapeOf(healthSchema), () => healthSchema));
    for (const value of [{ ok: false }, { ok: true, instance: 1 }, null, [], "ok"]) {
      const [ours, own] = [shaped.safeParse(value, { jitless: true }), healthSchema.safeParse(value)];
      assert.deepEqual(ours.error?.issues, own.error?.issues);
      assert.equal(ours.success, false);
    }
  });

  it("isn't made of a schema that asks for more than a shape can", () => {
    const asking = [
      z.strictObject({ a: z.string() }),
      z.object({ a: z.string().check(z.refine((value) => value !== "a")) }),
      z.object({ a: z.string().check(z.maxLength(3)) }),
      z.object({ a: z.number() }),
      z.object({ a: z.int().check(z.maximum(3)) }),
      z.union([z.string(), z.int()]),
      z.array(z.string()).check(z.minLength(1)),
    ];
    for (const schema of asking) assert.throws(() => shapeOf(schema), Error);
  });
});
