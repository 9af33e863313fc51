import type { Step } from "../pipeline.ts";
import type { ForeignName } from "../types/resourceType.ts";
import { resourceTypes } from "../types/resourceTypes.ts";
import { isMap } from "./checkShape.ts";
import { quoted, suggestion } from "./messageText.ts";
import type { ProblemList } from "./problemList.ts";
import type { Resource } from "./readResources.ts";
import type { Path, YamlSource } from "./yamlSource.ts";

/** What a step can be read with: the file it stands in, and where to put what is wrong with it. */
export interface StepReading {
  readonly path: Path;
  readonly problems: ProblemList;
  readonly source: YamlSource;
  readonly foreignName: ForeignName;
}

/** @returns undefined when the step is wrong, or the resource that it uses. */
export function readStep(
  entry: unknown,
  path: Path,
  resources: ReadonlyMap<string, Resource>,
  problems: ProblemList,
  source: YamlSource,
): Step | undefined {
  if (!isMap(entry)) {
    problems.add(path, "a step is a map with `use` and an action, such as `{ use: shell, run: npm test }`");
    return undefined;
  }
  const resource = resourceOf(entry["use"], path, resources, problems);
  if (resource === undefined || resource.kind === "typeless") return undefined;
  const foreignName = (name: string) => nameOfOtherType(name, resource);
  const step = resource.readStep(entry, { path, problems, source, foreignName });
  return resource.kind === "wrong" ? undefined : step;
}

function resourceOf(
  use: unknown,
  path: Path,
  resources: ReadonlyMap<string, Resource>,
  problems: ProblemList,
): Resource | undefined {
  if (typeof use !== "string") {
    if (use === undefined)
      problems.add(path, "a step needs `use`: the name of the resource that it works with");
    else problems.add([...path, "use"], "expected the name of a resource");
    return undefined;
  }
  const resource = resources.get(use);
  if (resource === undefined) {
    problems.add(
      [...path, "use"],
      resources.size === 0
        ? `there is no resource \`${quoted(use)}\`: the file has no \`resources\``
        : `there is no resource \`${quoted(use)}\`${suggestion(use, resources.keys())}`,
    );
  }
  return resource;
}

/** A name that a step of another type knows: most likely the step uses the wrong resource. */
function nameOfOtherType(
  name: string,
  { name: resource, type }: Exclude<Resource, { kind: "typeless" }>,
): string | undefined {
  const other = resourceTypes.find(({ stepNames }) => stepNames.includes(name));
  if (other === undefined || other === type) return undefined;
  return `\`${name}\` belongs to a step of type ${other.type}, but \`${quoted(resource)}\` is of type ${type.type}, whose steps have ${type.actions}`;
}
