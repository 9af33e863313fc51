import { isMap } from "./file/checkShape.ts";
import type { ProblemList } from "./file/problemList.ts";
import type { Path } from "./file/yamlSource.ts";
import { foreignType } from "./mistakes/foreignWords.ts";
import { nearestName, quoted } from "./mistakes/problem.ts";
import { isName } from "./pipeline.ts";
import type { ReadStep, ResourceType } from "./types/resourceType.ts";
import { findResourceType, type Step } from "./types/resourceTypes.ts";
import { resourceTypeNames } from "./types/resultFields.ts";

/**
 * A resource of the file. An invalid one is included, so that steps aren't reported for using it; if its type is known,
 * its steps are read too, so that their problems are reported together with its own.
 */
export type Resource =
  | {
      readonly kind: "usable" | "wrong";
      readonly name: string;
      readonly type: ResourceType<Step>;
      /** As the file writes it. */
      readonly entry: unknown;
      readonly readStep: ReadStep<Step>;
    }
  | { readonly kind: "typeless" };

/** @returns undefined if the value isn't a map, so that no step is reported for the resource that it uses. */
export function readResources(
  value: unknown,
  problems: ProblemList,
): ReadonlyMap<string, Resource> | undefined {
  const resources = new Map<string, Resource>();
  if (value === undefined) return resources;
  if (!isMap(value)) return undefined;
  for (const [name, entry] of Object.entries(value)) {
    if (problems.full) break;
    const path = ["resources", name];
    if (!isName(name)) {
      problems.addToName(
        path,
        "a resource's name begins with a letter or digit and goes on with letters, digits, `.`, `_` and `-`",
      );
    }
    const type = typeOf(name, entry, path, problems);
    // With a misspelt type, or another tool's name of it, the rest is checked as if the type were right.
    const known = isMap(entry) && type !== undefined ? { ...entry, type: type.type } : entry;
    resources.set(
      name,
      type === undefined ? { kind: "typeless" } : stepReader({ name, type, entry: known }, path, problems),
    );
  }
  return resources;
}

export function stepReader(
  { name, type, entry }: Omit<Exclude<Resource, { kind: "typeless" }>, "kind" | "readStep">,
  path: Path,
  problems: ProblemList,
): Resource {
  const readStep = type.readResource(entry, path, problems);
  if (readStep !== undefined) return { kind: "usable", name, type, entry, readStep };
  const readAnyStep = type.readResource(type.validResource, path, problems);
  return readAnyStep === undefined
    ? { kind: "typeless" }
    : { kind: "wrong", name, type, entry, readStep: readAnyStep };
}

function typeOf(
  name: string,
  entry: unknown,
  path: Path,
  problems: ProblemList,
): ResourceType<Step> | undefined {
  const types = `the types are ${resourceTypeNames.join(", ")}`;
  if (!isMap(entry)) {
    problems.add(path, `a resource is a map with a \`type\`, such as \`sh: { type: cli }\`; ${types}`);
    return undefined;
  }
  const written = entry["type"];
  if (written === undefined) {
    problems.add(path, `the resource \`${quoted(name)}\` needs a \`type\`; ${types}`);
    return undefined;
  }
  const known = findResourceType(written);
  if (known !== undefined) return known;
  const text = typeof written === "string" ? written : JSON.stringify(written);
  const word = foreignType(text, resourceTypeNames);
  const meant = word === undefined ? nearestName(text, resourceTypeNames) : word.field;
  const near = meant === undefined ? `; ${types}` : `; did you mean \`${meant}\`? ${types}`;
  problems.add(
    [...path, "type"],
    `there is no resource type \`${quoted(text)}\`${word?.how === undefined ? near : `; ${word.how}`}`,
  );
  return word?.how === undefined ? findResourceType(meant) : undefined;
}
