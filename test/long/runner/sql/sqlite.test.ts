import assert from "node:assert/strict";
import { testSteps } from "../../../runner/sql/runTestSteps.ts";
import { temporaryFolder } from "../../../temporaryFolder.ts";

describe("a row of SQLite", () => {
  const folder = temporaryFolder();

  it("whose text is larger than any can be is said to be that", async () => {
    await using steps = testSteps("sqlite::memory:", folder.path);
    assert.equal(
      await steps.fails({ query: "select printf('%.*c', 536870889, 'x') as a" }),
      "a text in a row is too large to be read: it has more than 512 MB",
    );
    await steps.succeeds({ query: "select 1 as a", expect: { rows: [{ a: 1 }] } });
  });
});
