/** The headers of each of the tool's requests. The last two as `fetch` sends them where nothing is to be stored. */
export const everyRequest: Readonly<Record<string, string>> = {
  "user-agent": "pipeline-runs",
  "accept-encoding": "identity",
  "cache-control": "no-cache",
  pragma: "no-cache",
};
