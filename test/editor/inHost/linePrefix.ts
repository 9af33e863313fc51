/**
 * Names the environment variable whose value stands before every line of the tests' report. VS Code writes its own
 * log to the same place where it is served to a browser, and the launcher must tell the two apart.
 */
export const linePrefixVariable = "PIPELINE_RUNS_TEST_LINE_PREFIX";
