import { timeLimit } from "../contract/limits.ts";
import { checkShape, isMap } from "./file/checkShape.ts";
import { parseDuration } from "./file/duration.ts";
import { hasReference, splitReferences } from "./file/environmentReference.ts";
import { ProblemList } from "./file/problemList.ts";
import { type Path, readYaml, type YamlSource } from "./file/yamlSource.ts";
import { inOrder, nearestName, type Place, type Problem, quoted, suggestion } from "./mistakes/problem.ts";
import { isName, type Pipeline } from "./pipeline.ts";
import { isField, outlineSchema } from "./pipelineFile.ts";
import type { ReadStep, ResourceType } from "./types/resourceType.ts";
import { findResourceType, resourceTypeNames, resourceTypes, type Step } from "./types/resourceTypes.ts";

export type ParsedPipeline =
  | {
      readonly kind: "valid";
      readonly pipeline: Pipeline;
      /** The position of its name; the file's beginning when the file has none. */
      readonly nameAt: Place;
      /** The position of its `env-file`, likewise. */
      readonly envFileAt: Place;
    }
  | { readonly kind: "invalid"; readonly problems: readonly [Problem, ...Problem[]] };

/**
 * In UTF-16 units, some 1500 lines. The YAML library needs up to a second for a text of this size, and the service reads
 * files of cloned repositories, which may be hostile.
 */
export const largestFile = 64 * 1024;

/**
 * Parses a pipeline file, or returns all its problems. Never throws.
 *
 * @param fileName the file's name or path; its base name without the extension is the pipeline's default name.
 */
export function parsePipeline(text: string, fileName: string): ParsedPipeline {
  if (text.length > largestFile) {
    return invalid([
      {
        message: `the file is larger than ${largestFile / 1024} KiB, the most that is read`,
        line: 1,
        column: 1,
      },
    ]);
  }
  // Editors don't count a byte-order mark as a column.
  const source = readYaml(text.replace(/^\uFEFF/, ""), isField);
  if (source.kind === "invalid") return invalid(source.problems);
  const problems = new ProblemList(source);
  const pipeline = readFile(source, fileName, problems);
  return pipeline === undefined || problems.sorted().length > 0
    ? invalid(problems.sorted())
    : { kind: "valid", pipeline, nameAt: fieldAt("name", source), envFileAt: fieldAt("env-file", source) };
}

function fieldAt(name: string, { value, place }: YamlSource): Place {
  return isMap(value) && value[name] !== undefined ? place([name]) : { line: 1, column: 1 };
}

function readFile(source: YamlSource, fileName: string, problems: ProblemList): Pipeline | undefined {
  const { value } = source;
  if (!isMap(value)) {
    problems.add(
      [],
      value === null ? "the file is empty; a pipeline has `steps`" : "expected a map with `steps`",
    );
    return undefined;
  }
  const outline = checkShape({ schema: outlineSchema, noun: "a pipeline" }, value, [], problems);
  const resources = readResources(value["resources"], problems);
  const steps: Step[] = [];
  for (const [index, entry] of listOf(value["steps"]).entries()) {
    if (problems.full) break;
    const step = readStep(entry, ["steps", index], resources, problems, source);
    if (step !== undefined) steps.push(step);
  }
  checkTexts(value["env-file"], ["env-file"], problems);
  checkTexts(value["resources"], ["resources"], problems);
  checkTexts(value["steps"], ["steps"], problems);
  if (outline === undefined) return undefined;
  return {
    name: nameOf(outline.name, fileName, problems),
    timeLimitSeconds: timeLimitOf(outline["time-limit"], problems),
    envFile: envFileOf(outline["env-file"], problems),
    ...(outline.unmasked && { unmasked: outline.unmasked }),
    resources: [...(resources?.values() ?? [])].flatMap((resource) =>
      resource.kind === "usable" ? [{ name: resource.name, type: resource.type.type }] : [],
    ),
    steps,
  };
}

function nameOf(written: string | undefined, fileName: string, problems: ProblemList): string {
  const name = written ?? baseName(fileName);
  if (isName(name)) return name;
  const rule = "begins with a letter or digit and goes on with letters, digits, `.`, `_` and `-`";
  if (written === undefined) {
    problems.add(
      [],
      `the file's name, \`${quoted(name)}\`, can't be the pipeline's: a name ${rule}; give it a \`name\``,
    );
  } else {
    problems.add(["name"], `\`${quoted(name)}\` can't be a pipeline's name: it ${rule}`);
  }
  return name;
}

function timeLimitOf(written: string | number | undefined, problems: ProblemList): number {
  if (written === undefined) return timeLimit.byDefault;
  const seconds = (parseDuration(written) ?? Number.NaN) / 1000;
  if (!Number.isInteger(seconds) || seconds < 1) {
    problems.add(["time-limit"], "a time limit is a whole number of seconds, at least 1");
  } else if (seconds > timeLimit.atMost) {
    problems.add(["time-limit"], `a run may take at most 1h (${timeLimit.atMost} seconds)`);
  }
  return seconds;
}

function envFileOf(written: string | undefined, problems: ProblemList): string | undefined {
  if (written === undefined) return undefined;
  const isAbsolute = /^(?:[/\\]|[A-Za-z]:)/.test(written);
  if (isAbsolute || written.split(/[/\\]/).includes("..")) {
    problems.add(
      ["env-file"],
      "this leads out of the project's folder; name a file inside it, such as `.env`",
    );
  }
  return written;
}

/** Checks every text in which the runner inserts environment variables. */
function checkTexts(value: unknown, path: Path, problems: ProblemList): void {
  if (typeof value === "string") {
    // Neither programs nor HTTP accept it; in JSON it is escaped.
    if (value.includes("\0") && !path.includes("json")) problems.add(path, "this holds a NUL character");
    if (!hasReference(value)) return;
    const split = splitReferences(value);
    if (split.kind === "invalid") problems.add(path, split.problem);
    else if (isFixed(path)) problems.add(path, "an environment variable can't be filled in here");
  } else if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) checkTexts(item, [...path, index], problems);
  } else if (isMap(value)) {
    for (const [name, item] of Object.entries(value)) {
      // Outside JSON, it would be dropped silently where names are arbitrary.
      if (name === "__proto__" && !path.includes("json"))
        problems.add([...path, name], "`__proto__` can't be a name");
      const split = splitReferences(name);
      if (split.kind === "invalid") problems.addToName([...path, name], split.problem);
      checkTexts(item, [...path, name], problems);
    }
  }
}

/**
 * Whether the value is needed before the run or shown to people: a step's `name` and `use`, a resource's `type`, the
 * `env-file`.
 */
function isFixed(path: Path): boolean {
  const [part, , name] = path;
  if (part === "env-file") return true;
  return path.length === 3 && (part === "steps" ? name === "name" || name === "use" : name === "type");
}

function baseName(fileName: string): string {
  const name = fileName.split(/[/\\]/).at(-1) ?? fileName;
  return name.replace(/\.[^.]+$/, "");
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function invalid(problems: readonly Problem[]): ParsedPipeline {
  const [first = { message: "the file can't be read", line: 1, column: 1 }, ...others] = inOrder(problems);
  return { kind: "invalid", problems: [first, ...others] };
}

/**
 * A resource of the file. An invalid one is included, so that steps aren't reported for using it; if its type is known,
 * its steps are read too, so that their problems are reported together with its own.
 */
type Resource =
  | {
      readonly kind: "usable" | "wrong";
      readonly name: string;
      readonly type: ResourceType<Step>;
      readonly readStep: ReadStep<Step>;
    }
  | { readonly kind: "typeless" };

/** @returns undefined for what is no map, so that no step is reported for what it uses. */
function readResources(value: unknown, problems: ProblemList): ReadonlyMap<string, Resource> | undefined {
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
    resources.set(name, readResource(name, entry, path, problems));
  }
  return resources;
}

function readResource(name: string, entry: unknown, path: Path, problems: ProblemList): Resource {
  const type = typeOf(name, entry, path, problems);
  if (type === undefined) return { kind: "typeless" };
  const readStep = type.readResource(entry, path, problems);
  if (readStep !== undefined) return { kind: "usable", name, type, readStep };
  const readAnyStep = type.readResource(type.validResource, path, problems);
  return readAnyStep === undefined
    ? { kind: "typeless" }
    : { kind: "wrong", name, type, readStep: readAnyStep };
}

function typeOf(
  name: string,
  entry: unknown,
  path: Path,
  problems: ProblemList,
): ResourceType<Step> | undefined {
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
  const known = findResourceType(written);
  if (known === undefined) {
    const text = typeof written === "string" ? written : JSON.stringify(written);
    const near = suggestion(text, resourceTypeNames);
    problems.add([...path, "type"], `there is no resource type \`${quoted(text)}\`${near || ";"} ${types}`);
  }
  return known;
}

/** @returns undefined when the step or its resource is invalid. */
function readStep(
  entry: unknown,
  path: Path,
  resources: ReadonlyMap<string, Resource> | undefined,
  problems: ProblemList,
  source: YamlSource,
): Step | undefined {
  if (!isMap(entry)) {
    problems.add(path, "a step is a map with `use` and an action, such as `{ use: shell, run: npm test }`");
    return undefined;
  }
  const resource = resourceOf(entry, path, resources, problems);
  if (resource === undefined || resource.kind === "typeless") return undefined;
  const foreignName = (name: string) => nameOfOtherType(name, resource);
  const step = resource.readStep(entry, { path, problems, source, foreignName });
  return resource.kind === "wrong" ? undefined : step;
}

function resourceOf(
  step: Readonly<Record<string, unknown>>,
  path: Path,
  resources: ReadonlyMap<string, Resource> | undefined,
  problems: ProblemList,
): Resource | undefined {
  const { use } = step;
  if (typeof use !== "string") {
    const meant = Object.keys(step).find((name) => nearestName("use", [name]) !== undefined);
    if (use === undefined && meant !== undefined)
      problems.addToName([...path, meant], `a step has no \`${quoted(meant)}\`; did you mean \`use\`?`);
    else if (use === undefined)
      problems.add(path, "a step needs `use`: the name of the resource that it works with");
    else problems.add([...path, "use"], "expected the name of a resource");
    return undefined;
  }
  const resource = resources?.get(use);
  if (resource === undefined && resources !== undefined) {
    problems.add(
      [...path, "use"],
      resources.size === 0
        ? `there is no resource \`${quoted(use)}\`: the file has no \`resources\``
        : `there is no resource \`${quoted(use)}\`${suggestion(use, resources.keys())}`,
    );
  }
  return resource;
}

/** Explains a name that belongs to another type's steps: most likely the step uses the wrong resource. */
function nameOfOtherType(
  name: string,
  { name: resource, type }: Exclude<Resource, { kind: "typeless" }>,
): string | undefined {
  const other = Object.values(resourceTypes).find(({ file }) => Object.hasOwn(file.step.def.shape, name));
  if (other === undefined || other === type) return undefined;
  return `\`${name}\` belongs to a step of type ${other.type}, but \`${quoted(resource)}\` is of type ${type.type}, whose steps have ${type.actions}`;
}
