import { runMarker } from "./processes/processTable.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/** What tells this product or its editor how to run, or holds an API key: none of a step's business. */
const withheld = /^(?:PIPELINE_API_KEY|PIPELINE_BASE_URL|ELECTRON_RUN_AS_NODE|VSCODE_.*)$/i;

/** The environment that a run's processes get: the service's own without what is withheld, and the run's marker. */
export function stepEnvironment(own: Environment, runId: string): Record<string, string> {
  const kept = Object.entries(own).flatMap(([name, value]): [string, string][] =>
    value === undefined || withheld.test(name) ? [] : [[name, value]],
  );
  return { ...Object.fromEntries(kept), [runMarker]: runId };
}

/** The variable's value; on Windows the case of its name doesn't matter. */
export function variable(
  environment: Environment,
  name: string,
  platform: NodeJS.Platform,
): string | undefined {
  const exact = environment[name];
  if (exact !== undefined || platform !== "win32") return exact;
  const wanted = name.toUpperCase();
  return Object.entries(environment).find(([candidate]) => candidate.toUpperCase() === wanted)?.[1];
}
