// biome-ignore-all lint/suspicious/noTemplateCurlyInString: braces as pipeline files write them.
import type { KnownNames } from "./knownNames.ts";
import { type Placeholder, variableOf } from "./mistakes/foreignWords.ts";
import { quoted } from "./mistakes/problem.ts";
import type { Place } from "./textPlaces.ts";

type FilledPlace = Exclude<Place, { kind: "fixed" }>;

/** The message about a placeholder, with what to write instead. */
export function unfilled(found: Placeholder, place: FilledPlace, names: KnownNames): string {
  const way = (place.kind === "text" ? place.instead : undefined) ?? wayToWrite(found, place, names);
  return `\`${quoted(found.written)}\` isn't filled in here: ${way}`;
}

function wayToWrite(
  { written, name, byDefault }: Placeholder,
  { kind, contexts }: FilledPlace,
  names: KnownNames,
): string {
  const asWritten = (expression: string) =>
    kind === "text" ? `\`\${{ ${expression} }}\`` : `\`${expression}\``;
  // runn writes `steps` too, with `res` for a reply.
  const isOurs = new RegExp(`^\\{\\{\\s*(?:${contexts.join("|")})\\.(?!.*\\.res\\b)`).test(written);
  if (isOurs) return `write ${asWritten(quoted(written.slice(2, -2).trim()))}`;
  const variable = `env.${quoted(variableOf(name))}`;
  const ofEnv =
    byDefault === undefined ? variable : `default(${variable}, '${quoted(byDefault.replaceAll("'", "''"))}')`;
  const ofInputs = asWritten(`inputs.${quoted(name)}`);
  if (names.inputs.has(name)) return `write ${ofInputs}`;
  const ways = [...(variableOf(name) === name ? [] : [ofInputs]), asWritten(ofEnv)];
  if (contexts.includes("steps")) ways.push(`${asWritten("steps.<id>…")} for what an earlier step gave`);
  return `write ${new Intl.ListFormat("en", { type: "disjunction" }).format(ways)}`;
}
