/** What of the environment the tool heeds, each with its meaning; shown by the help, the man page and the docs. */
export const environmentVariables = [
  ["PIPELINE_BASE_URL", "the service to use instead of this machine's own"],
  ["PIPELINE_API_KEY", "the API key for that service"],
  ["PIPELINE_DATA_DIR", "the folder of this machine's own service"],
  ["PIPELINE_CONFIG_DIR", "the folder of what `pipeline login` keeps"],
  ["PIPELINE_CACHE_DIR", "the folder of what can be made again"],
  ["NO_COLOR", "no colours, whatever its value"],
  ["FORCE_COLOR", "colours also where there is no terminal; 0 for none anywhere"],
  ["TERM", "with dumb, no colours and no line that is drawn over"],
  ["CI", "no line that is drawn over"],
  ["BROWSER", "the program that `pipeline page --open` opens a page with"],
  ["HTTPS_PROXY, HTTP_PROXY", "the proxy to reach a service through"],
  ["NO_PROXY", "the hosts to reach without a proxy"],
  ["NODE_EXTRA_CA_CERTS", "a file of further certificates to trust"],
  ["PIPELINE_RETENTION_DAYS", "for how many days this machine's own service keeps logs"],
  ["PIPELINE_LOG_LEVEL", "how much this machine's own service writes to its log"],
] as const satisfies readonly (readonly [name: string, meaning: string])[];
