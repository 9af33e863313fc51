import { isName, resourceTypeNames } from "../pipeline.ts";
import type { ReadStep, ResourceType } from "../types/resourceType.ts";
import { resourceTypes } from "../types/resourceTypes.ts";
import { isMap } from "./checkShape.ts";
import { quoted, suggestion } from "./messageText.ts";
import type { ProblemList } from "./problemList.ts";
import type { Path } from "./yamlSource.ts";

/**
 * A resource that steps name. One that is wrong itself is kept, so that its steps aren't blamed for it; they are read
 * all the same where its type is known, so that their problems are told with its own.
 */
export type Resource =
  | {
      readonly kind: "usable" | "wrong";
      readonly name: string;
      readonly type: ResourceType;
      readonly readStep: ReadStep;
    }
  | { readonly kind: "typeless" };

export function readResources(value: unknown, problems: ProblemList): ReadonlyMap<string, Resource> {
  const resources = new Map<string, Resource>();
  if (!isMap(value)) return resources;
  for (const [name, entry] of Object.entries(value)) {
    if (problems.full) break;
    const path = ["resources", name];
    if (!isName(name)) {
      problems.addToName(
        path,
        "a resource's name begins with a letter or digit and goes on with letters, digits, `.`, `_` and `-`",
      );
    }
    resources.set(name, readResource(name, entry, path, problems));
  }
  return resources;
}

function readResource(name: string, entry: unknown, path: Path, problems: ProblemList): Resource {
  const type = typeOf(name, entry, path, problems);
  if (type === undefined) return { kind: "typeless" };
  const readStep = type.readResource(entry, path, problems);
  if (readStep !== undefined) return { kind: "usable", name, type, readStep };
  const readAnyStep = type.readResource(type.standIn, path, problems);
  return readAnyStep === undefined
    ? { kind: "typeless" }
    : { kind: "wrong", name, type, readStep: readAnyStep };
}

function typeOf(name: string, entry: unknown, path: Path, problems: ProblemList): ResourceType | undefined {
  const types = `the types are ${resourceTypeNames.join(", ")}`;
  if (!isMap(entry)) {
    problems.add(
      path,
      `a resource is a map with a \`type\`, such as \`${quoted(name)}: { type: cli }\`; ${types}`,
    );
    return undefined;
  }
  const written = entry["type"];
  if (written === undefined) {
    problems.add(path, `the resource \`${quoted(name)}\` needs a \`type\`; ${types}`);
    return undefined;
  }
  const known = resourceTypes.find(({ type }) => type === written);
  if (known === undefined) {
    const text = typeof written === "string" ? written : JSON.stringify(written);
    const near = suggestion(text, resourceTypeNames);
    problems.add([...path, "type"], `there is no resource type \`${quoted(text)}\`${near || ";"} ${types}`);
  }
  return known;
}
