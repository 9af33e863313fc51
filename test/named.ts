/** A process of the tests is named after the test that it is at: a list of processes then says where one hangs. */
export const mochaHooks: Mocha.RootHookObject = {
  beforeEach(this: Mocha.Context) {
    process.title = this.currentTest?.fullTitle() ?? "a test";
  },
};
