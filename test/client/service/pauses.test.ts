import assert from "node:assert/strict";
import * as fc from "fast-check";
import { growingPauses } from "../../../src/client/service/retry.ts";
import { holds } from "../../contract/holds.ts";

const chances = fc.array(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), {
  minLength: 12,
  maxLength: 12,
});

function pausesFor(told: readonly number[]): number[] {
  const random = told.values();
  const pauses = growingPauses(() => random.next().value ?? 0);
  return told.map(() => pauses.next().value);
}

describe("the pauses between attempts", () => {
  it("are whole milliseconds from 1 s to 5 s, whatever chance says", () => {
    holds(
      fc.property(chances, (told) => {
        for (const pause of pausesFor(told)) {
          assert.ok(Number.isInteger(pause) && pause >= 1000 && pause <= 5000, `${pause}`);
        }
      }),
    );
  });

  it("begin short and become long", () => {
    holds(
      fc.property(chances, (told) => {
        const pauses = pausesFor(told);
        assert.ok((pauses[0] ?? 0) <= 1500);
        assert.ok((pauses.at(-1) ?? 0) > 3000);
      }),
    );
  });

  it("differ between clients that began in the same moment", () => {
    assert.notDeepEqual(pausesFor([0.1, 0.2, 0.3]), pausesFor([0.3, 0.1, 0.2]));
  });
});
