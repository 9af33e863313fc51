/** A process's environment. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Whether a variable is there with a value; an empty one counts as none, as everywhere in this tool. */
export function isSet(env: Environment, name: string): boolean {
  return (env[name] ?? "") !== "";
}
