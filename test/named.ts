import fc from "fast-check";

const { FC_SEED: seed, FC_RUNS: runs } = process.env;
// The same inputs each time, so that a change is judged by what it breaks; a long search takes others each time.
if (seed !== undefined || runs === undefined) fc.configureGlobal({ seed: Number(seed ?? 20_261_125) });

/** A process of the tests is named after the test that it is at: a list of processes then says where one hangs. */
export const mochaHooks: Mocha.RootHookObject = {
  beforeEach(this: Mocha.Context) {
    process.title = this.currentTest?.fullTitle() ?? "a test";
  },
};
