/** In the environment of tests: 1 where what is in `dist/` has been built from these very sources. */
export const builtVariable = "PIPELINE_RUNS_TEST_BUILT";
