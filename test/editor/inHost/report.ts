/** Names the environment variable with the file for the tests' report: what VS Code passes on has its own log in between. */
export const reportVariable = "PIPELINE_RUNS_TEST_REPORT";
