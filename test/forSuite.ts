import assert from "node:assert/strict";

/** What is there for all the tests of a suite, such as a database; the first time it may have to be installed. */
export function forSuite<Held extends AsyncDisposable>(
  make: (signal: AbortSignal) => Promise<Held>,
): () => Held {
  let held: Held | undefined;
  before(async function () {
    this.timeout(300_000);
    held = await make(AbortSignal.timeout(290_000));
  });
  after(() => held?.[Symbol.asyncDispose]());
  return () => held ?? assert.fail("it is there once the first test begins");
}
