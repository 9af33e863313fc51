/**
 * Whether another service than this machine's own is in use (contract: "The command-line tool"), without asking it.
 * Also true for half a name, which `serviceFor` tells about.
 */
export async function isServiceNamed(env: Readonly<Record<string, string | undefined>>): Promise<boolean> {
  return (env["PIPELINE_BASE_URL"] ?? "") !== "" || (env["PIPELINE_API_KEY"] ?? "") !== "";
}
