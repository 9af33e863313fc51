import assert from "node:assert/strict";
import { retryAfterSeconds } from "../../../src/client/service/replyErrors.ts";

const now = Date.parse("2026-03-03T10:00:00Z");
const asked = (text: string) => retryAfterSeconds(new Headers({ "retry-after": text }), now);

describe("the pause that a reply asks for", () => {
  it("is a number of seconds, or lasts until a time", () => {
    assert.equal(asked("30"), 30);
    assert.equal(asked("Tue, 03 Mar 2026 10:01:00 GMT"), 60);
    assert.equal(asked("Tue, 03 Mar 2026 09:59:00 GMT"), 0);
    assert.equal(asked("soon"), undefined);
  });

  it("is a day at the most, so that no timer overflows and asks at once", () => {
    for (const text of ["999999999", "9".repeat(40), "Fri, 31 Dec 9999 23:59:59 GMT"]) {
      assert.equal(asked(text), 86_400);
    }
  });
});
