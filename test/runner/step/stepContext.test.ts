import assert from "node:assert/strict";
import { SharedResources } from "../../../src/runner/step/stepContext.ts";

describe("what the steps of a run share", () => {
  it("is made once, by the first that asks, for each type and name", async () => {
    const shared = new SharedResources();
    const made: string[] = [];
    const make = (name: string) => async () => {
      made.push(name);
      return new Thing();
    };
    const [one, same] = await Promise.all([
      shared.get(Thing, "a", make("a")),
      shared.get(Thing, "a", make("a")),
    ]);
    const other = await shared.get(Thing, "b", make("b"));
    const ofOtherType = await shared.get(OtherThing, "a", async () => new OtherThing());
    assert.equal(one, same);
    assert.notEqual(one, other);
    assert.ok(ofOtherType instanceof OtherThing);
    assert.deepEqual(made, ["a", "b"]);
  });

  it("is made again after it couldn't be", async () => {
    const shared = new SharedResources();
    await assert.rejects(
      shared.get(Thing, "a", () => Promise.reject(new Error("no"))),
      /^Error: no$/,
    );
    assert.ok((await shared.get(Thing, "a", async () => new Thing())) instanceof Thing);
  });

  it("is given up when the run ends, also what is still being made, and whatever one of them says to it", async () => {
    const shared = new SharedResources();
    const late = Promise.withResolvers<Thing>();
    const things = [new Thing(), new Thing(new Error("stuck")), new Thing()];
    for (const [index, thing] of things.slice(0, 2).entries()) {
      await shared.get(Thing, String(index), async () => thing);
    }
    const asked = shared.get(Thing, "late", () => late.promise);
    const disposed = shared[Symbol.asyncDispose]();
    const [, , last] = things;
    assert.ok(last);
    late.resolve(last);
    await Promise.all([asked, disposed]);
    assert.deepEqual(
      things.map(({ disposals }) => disposals),
      [1, 1, 1],
    );
    await shared[Symbol.asyncDispose]();
    assert.equal(last.disposals, 1);
    await assert.rejects(
      shared.get(Thing, "more", async () => new Thing()),
      /the run was ended/,
    );
  });
});

class Thing implements AsyncDisposable {
  disposals = 0;
  readonly #problem: Error | undefined;

  constructor(problem?: Error) {
    this.#problem = problem;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.disposals += 1;
    if (this.#problem !== undefined) throw this.#problem;
  }
}

class OtherThing extends Thing {}
