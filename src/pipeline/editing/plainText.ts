import { parse } from "yaml";

/** A name as YAML writes it: as it stands, or in quotes where YAML would take it for something else. */
export function asYamlText(name: string): string {
  try {
    if (parse(name) === name) return name;
  } catch {
    // Quotes help against whatever it is.
  }
  return JSON.stringify(name);
}
