import { checkShape, isMap } from "./checkShape.ts";
import { suggestion } from "./nearestName.ts";
import { httpMethods, runnableTypes, type Step } from "./pipeline.ts";
import { cliStepFileSchema, httpStepFileSchema } from "./pipelineFile.ts";
import type { ProblemList } from "./problemList.ts";
import { quoted } from "./quoted.ts";
import { readCliStep } from "./readCliStep.ts";
import { readHttpStep } from "./readHttpStep.ts";
import type { Resource } from "./readResources.ts";
import type { Path, YamlSource } from "./yamlSource.ts";

/** What a step can be read with: the file it stands in, and where to put what is wrong with it. */
export interface StepReading {
  readonly path: Path;
  readonly problems: ProblemList;
  readonly source: YamlSource;
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
  if (resource?.kind !== "usable") return undefined;
  const reading = { path, problems, source };
  const { settings } = resource;
  switch (settings.type) {
    case "http": {
      const foreign = (name: string) => foreignName(name, resource.name, "http", cliStepFileSchema.def.shape);
      const shape = { schema: httpStepFileSchema, noun: "an http step", foreign };
      const file = checkShape(shape, entry, path, problems);
      return file && readHttpStep(file, settings, reading);
    }
    case "cli": {
      const foreign = (name: string) => foreignName(name, resource.name, "cli", httpStepFileSchema.def.shape);
      const shape = { schema: cliStepFileSchema, noun: "a cli step", foreign };
      const file = checkShape(shape, entry, path, problems);
      return file && readCliStep(file, settings, reading);
    }
    default:
      return settings satisfies never;
  }
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
function foreignName(
  name: string,
  resource: string,
  type: (typeof runnableTypes)[number],
  otherNames: Readonly<Record<string, unknown>>,
): string | undefined {
  if (!Object.hasOwn(otherNames, name)) return undefined;
  const other = runnableTypes.find((candidate) => candidate !== type) ?? type;
  const action = type === "cli" ? "`run`" : `one of ${httpMethods.join(", ")}`;
  return `\`${name}\` belongs to a step of type ${other}, but \`${quoted(resource)}\` is of type ${type}, whose steps have ${action}`;
}
