import * as z from "zod/mini";
import { checkShape, isMap } from "./file/checkShape.ts";
import { parseDuration } from "./file/duration.ts";
import { field, needed } from "./file/fieldTexts.ts";
import { ProblemList } from "./file/problemList.ts";
import { checkNumbers, leadsOut } from "./file/readValues.ts";
import { marked } from "./file/textPieces.ts";
import { everyControl, everyStep, nonEmpty, type Plan, that } from "./file/values.ts";
import type { Path, YamlSource } from "./file/yamlSource.ts";
import { foreignWord } from "./mistakes/foreignWords.ts";
import { nearestName, quoted, suggestion } from "./mistakes/problem.ts";
import type { PartFile, PartFiles } from "./partFiles.ts";
import type { Input, Part, Pipeline } from "./pipeline.ts";
import { type Resource, readResources, stepReader } from "./readResources.ts";
import { resourceTypes, type Step } from "./types/resourceTypes.ts";

export const includeFileSchema = z.strictObject({
  ...everyControl,
  name: field(nonEmpty, { meaning: "What the part is called wherever it is shown.", byDefault: "its path" }),
  include: needed(nonEmpty, {
    meaning:
      "A pipeline file whose steps run here, by its path in the project's folder. Its `outputs` are what the `id` of this step has. Where this file has a resource of the same name and type, the part's steps work with that.",
    values: ["parts/login.yaml"],
  }),
  inputs: field(z.record(z.string(), z.unknown()), {
    meaning: "What the part's inputs are.",
    byDefault: "their defaults",
  }),
});

const deepestInclude = 5;
const mostPartSteps = 500;

const anyField: Readonly<Record<string, z.ZodMiniOptional<z.ZodMiniUnknown>>> = Object.fromEntries(
  Object.values(resourceTypes).flatMap(({ file }) =>
    Object.keys(file.step.def.shape).map((name) => [name, z.optional(z.unknown())]),
  ),
);

/** A step whose type isn't known: it may have the fields of every step, and those of any type. */
const anyStepSchema = z.strictObject({
  ...anyField,
  ...everyStep,
  use: z.optional(z.unknown()),
  expect: z.optional(z.looseObject({ that })),
});

/** What a file's steps are read with: those of the file itself, or of a part. */
export interface StepsReading {
  readonly source: YamlSource;
  readonly problems: ProblemList;
  /** Undefined where the file's `resources` are no map. */
  readonly resources: ReadonlyMap<string, Resource> | undefined;
  /** The index of the part; undefined for the file itself. */
  readonly part?: number;
  readonly depth: number;
}

/** The steps of a file, with those of its parts in their places. */
export class PlannedSteps {
  readonly steps: Step[] = [];
  /** The steps of `finally`, those of the parts included. */
  readonly cleanup: Step[] = [];
  readonly parts: Part[] = [];
  /** The resources that the parts add, by type and name. */
  readonly resources = new Map<string, Pipeline["resources"][number]>();
  readonly #files: PartFiles;
  /** The resources that a step has used, and so may have opened a page of. */
  readonly #opened = new Set<string>();
  /** Read the cleanup of the parts among the steps, the last included part first. */
  readonly #partCleanups: (() => void)[] = [];
  #partSteps = 0;

  constructor(files: PartFiles) {
    this.#files = files;
  }

  readFile(value: Readonly<Record<string, unknown>>, reading: StepsReading): void {
    this.#readAll(value["steps"], ["steps"], reading, this.steps);
    this.#readAll(value["finally"], ["finally"], reading, this.cleanup);
    for (const read of this.#partCleanups) read();
  }

  #readAll(list: unknown, path: Path, reading: StepsReading, to: Step[]): void {
    if (!Array.isArray(list)) return;
    for (const [index, entry] of list.entries()) {
      if (reading.problems.full || this.#partSteps > mostPartSteps) return;
      const at = [...path, index];
      if (isMap(entry) && entry["include"] !== undefined) this.#include(entry, at, reading, to);
      else {
        const step = this.#readStep(entry, at, reading);
        if (step === undefined) continue;
        const { part } = reading;
        if (part !== undefined) this.#partSteps += 1;
        to.push({
          ...step,
          ...planOf(entry, at, reading),
          ...(part !== undefined && { part, name: `${this.parts[part]?.name}: ${step.name}` }),
          ...(to === this.cleanup && { isCleanup: true }),
        });
      }
    }
  }

  /** @returns undefined when the step or its resource is invalid. */
  #readStep(entry: unknown, path: Path, { resources, problems, source }: StepsReading): Step | undefined {
    if (!isMap(entry)) {
      problems.add(path, "a step is a map with `use` and an action, such as `{ use: shell, run: npm test }`");
      return undefined;
    }
    const resource = resourceOf(entry, path, resources, problems);
    if (resource === undefined || resource.kind === "typeless") {
      const foreign = (name: string) => nameOfResource(name, resources);
      checkShape({ schema: anyStepSchema, noun: "a step", foreign }, entry, path, problems);
      return undefined;
    }
    const foreignName = (name: string) => nameOfOtherType(name, resource);
    const opened = this.#opened;
    const step = resource.readStep(entry, { path, problems, source, foreignName, opened });
    // An invalid step might have opened a page, so the next one isn't reported for having none.
    opened.add(resource.name);
    return resource.kind === "wrong" ? undefined : step;
  }

  #include(entry: Readonly<Record<string, unknown>>, path: Path, reading: StepsReading, to: Step[]): void {
    const { problems } = reading;
    const shape = { schema: includeFileSchema, noun: "a step with `include`", foreign: notOfInclude };
    const file = checkShape(shape, entry, path, problems);
    if (file === undefined) return;
    const at = [...path, "include"];
    const found = this.#partOf(file.include, reading);
    if (found.kind === "unusable") problems.add(at, found.problem);
    if (found.kind !== "file") return;
    const { pipeline } = found.parsed;
    checkGiven(file.inputs ?? {}, pipeline.inputs ?? [], path, reading);
    const index =
      this.parts.push({
        name: file.name ?? file.id ?? quoted(file.include),
        ...(reading.part !== undefined && { parent: reading.part }),
        ...controlOf(file),
        ...(to === this.cleanup && { isCleanup: true, goesOn: true }),
        given: file.inputs ?? {},
        inputs: pipeline.inputs ?? [],
        outputs: pipeline.outputs ?? {},
      }) - 1;
    const inside = new ProblemList(found.source);
    const value = isMap(found.source.value) ? found.source.value : {};
    const part: StepsReading = {
      source: found.source,
      problems: inside,
      resources: this.#resourcesOf(value["resources"], { ...reading, problems: inside }),
      part: index,
      depth: reading.depth + 1,
    };
    this.#readAll(value["steps"], ["steps"], part, to);
    const readCleanup = () => this.#readAll(value["finally"], ["finally"], part, this.cleanup);
    if (to === this.cleanup) readCleanup();
    else this.#partCleanups.unshift(readCleanup);
    const [first] = inside.sorted();
    if (first !== undefined)
      problems.add(
        at,
        `\`${quoted(file.include)}\` can't be run with the resources of this file: ${first.message}`,
      );
    else if (this.#partSteps > mostPartSteps)
      problems.add(at, `the parts of a file have at most ${mostPartSteps} steps together`);
  }

  #partOf(path: string, { depth }: StepsReading): PartFile {
    const problem =
      depth < deepestInclude ? problemOfPath(path) : `parts include parts at most ${deepestInclude} deep`;
    return problem === undefined ? this.#files.file(path) : { kind: "unusable", problem };
  }

  /**
   * The part's resources. If the includer has one of the same name and type, that one is used, so that cookies and connections
   * are shared; the part's own fields count where the includer's has none.
   */
  #resourcesOf(
    written: unknown,
    { resources: outerResources, problems, part }: StepsReading,
  ): ReadonlyMap<string, Resource> | undefined {
    const resources = new Map(readResources(written, problems));
    for (const [name, resource] of resources) {
      if (resource.kind !== "usable") continue;
      const outer = outerResources?.get(name);
      if (outer?.kind === "usable" && outer.type === resource.type) {
        const scope = part === undefined ? 0 : part + 1;
        const own = changedTexts(outer.entry, (text) => marked(text, scope));
        const entry = withFieldsOf(resource.entry, own);
        resources.set(name, stepReader({ ...outer, entry }, ["resources", name], problems));
      } else {
        const { type } = resource.type;
        this.resources.set(`${type} ${name}`, { name, type });
      }
    }
    return resources;
  }
}

/** Merges two maps, and the maps in them; the second one wins. */
function withFieldsOf(one: unknown, other: unknown): unknown {
  if (!isMap(one) || !isMap(other)) return other;
  const fields = Object.entries(other).map(
    ([name, value]) => [name, withFieldsOf(one[name], value)] as const,
  );
  return { ...one, ...Object.fromEntries(fields) };
}

function changedTexts(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === "string") return change(value);
  if (Array.isArray(value)) return value.map((item) => changedTexts(item, change));
  if (!isMap(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, changedTexts(item, change)]));
}

/** The fields that any step may have, whether it uses a resource or includes a part. */
function controlOf(
  file: Pick<z.infer<typeof planSchema>, "id" | "if" | "on-failure">,
): Pick<Plan, "id" | "if" | "goesOn"> {
  return {
    ...(file.id !== undefined && { id: file.id }),
    ...(file.if !== undefined && { if: String(file.if) }),
    ...(file["on-failure"] !== undefined && { goesOn: true }),
  };
}

const everyByDefault = 1000;

/** The fields that every step can have, for one whose shape is checked. */
const planSchema = z.object({ ...everyStep, expect: z.optional(z.object({ that })) });

function planOf(entry: unknown, path: Path, { problems, source }: StepsReading): Plan {
  const { data: file } = planSchema.safeParse(entry);
  if (file === undefined) return {};
  const { each, retry, mask } = file;
  const { that } = file.expect ?? {};
  checkNumbers(each, [...path, "each"], { problems, source });
  if (retry !== undefined && retry.for === undefined && retry.times === undefined)
    problems.add(
      [...path, "retry"],
      "`retry` needs `for`, a length of time, or `times`, a number of attempts",
    );
  return {
    ...controlOf(file),
    ...(each !== undefined && { each }),
    ...(retry !== undefined && {
      retry: {
        ...(retry.for !== undefined && { forMilliseconds: parseDuration(retry.for) }),
        ...(retry.times !== undefined && { times: retry.times }),
        everyMilliseconds: parseDuration(retry.every ?? everyByDefault / 1000) ?? everyByDefault,
      },
    }),
    ...(mask !== undefined && { mask }),
    ...(that !== undefined && { that: [that].flat().map(String) }),
  };
}

function notOfInclude(name: string): string | undefined {
  return ["each", "retry", "mask", "expect", "timeout", "use"].includes(name)
    ? `a step with \`include\` has no \`${name}\`: its steps have their own`
    : undefined;
}

function problemOfPath(path: string): string | undefined {
  if (/\$\{\{/.test(path)) return "a part's path is fixed, so that its steps are known before the run";
  if (leadsOut(path))
    return "this leads out of the project's folder; name a file by its path from there, such as `parts/login.yaml`";
  return path.endsWith(".yaml") ? undefined : "a part is a pipeline file, whose name ends in `.yaml`";
}

/** Checks what an includer gives for the inputs of its part. */
function checkGiven(
  given: Readonly<Record<string, unknown>>,
  inputs: readonly Input[],
  path: Path,
  { problems, source }: Pick<StepsReading, "problems" | "source">,
): void {
  const names = inputs.map(({ name }) => name);
  for (const [name, value] of Object.entries(given)) {
    const input = inputs.find((known) => known.name === name);
    const at = [...path, "inputs", name];
    if (input === undefined) {
      const near = suggestion(name, names);
      problems.addToName(at, `the part has no input \`${quoted(name)}\`${near || listed(names)}`);
    } else {
      const problem = problemOfValue(input, value);
      if (problem === undefined) checkNumbers(value, at, { problems, source });
      else problems.add(at, problem);
    }
  }
  const missing = inputs.filter(
    ({ name, default: byDefault }) => byDefault === undefined && !(name in given),
  );
  if (missing.length > 0) {
    const all = missing.map(({ name }) => `\`${name}\``).join(", ");
    problems.add([...path, "include"], `the part needs ${all}: give it by \`inputs\``);
  }
}

function listed(names: readonly string[]): string {
  return names.length === 0 ? "; it has none" : `; it has ${names.map((name) => `\`${name}\``).join(", ")}`;
}

/** What is certainly wrong with a value; an expression's is known only in a run. */
function problemOfValue({ type, options }: Input, value: unknown): string | undefined {
  if (typeof value === "string" && /\$\{\{/.test(value)) return undefined;
  const wanted = { text: "string", number: "number", boolean: "boolean" }[type];
  if (typeof value !== wanted)
    return `the part's input is ${type === "boolean" ? "true or false" : `a ${type}`}`;
  return options === undefined || options.some((option) => option === value)
    ? undefined
    : `this is none of the input's options: ${options.join(", ")}`;
}

function resourceOf(
  step: Readonly<Record<string, unknown>>,
  path: Path,
  resources: ReadonlyMap<string, Resource> | undefined,
  problems: ProblemList,
): Resource | undefined {
  const { use } = step;
  if (typeof use !== "string") {
    // A name that was meant to be `use` is reported on its own.
    const isMeant = (name: string) =>
      nearestName("use", [name]) !== undefined ||
      foreignWord(name, ["use"]) !== undefined ||
      resources?.has(name);
    if (use !== undefined) problems.add([...path, "use"], "expected the name of a resource");
    else if (!Object.keys(step).some(isMeant) && !isForeign(step))
      problems.add(path, withoutUse(step, resources));
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

/** Whether a step has only fields of other tools that are written elsewhere here, such as `sleep: 5`. */
function isForeign(step: Readonly<Record<string, unknown>>): boolean {
  const known = Object.keys(anyStepSchema.def.shape);
  const names = Object.keys(step).filter((name) => !Object.hasOwn(everyStep, name));
  return names.length > 0 && names.every((name) => foreignWord(name, known)?.how !== undefined);
}

function withoutUse(
  step: Readonly<Record<string, unknown>>,
  resources: ReadonlyMap<string, Resource> | undefined,
): string {
  const needs = "a step needs `use`: the name of the resource that it works with";
  const names = Object.keys(step).filter(
    (name) => !Object.hasOwn(everyStep, name) && Object.hasOwn(anyField, name),
  );
  const types = Object.values(resourceTypes).filter(({ file }) =>
    names.every((name) => Object.hasOwn(file.step.def.shape, name)),
  );
  const [type, ...others] = types;
  if (type === undefined || others.length > 0) return needs;
  const known = [...(resources ?? [])].find(([, one]) => one.kind !== "typeless" && one.type === type);
  if (known !== undefined) return `${needs}, such as \`use: ${quoted(known[0])}\``;
  const { name, fields } = type.snippets.resource;
  const resource = `{ ${name}: { type: ${type.type}${fields.replaceAll(/\$\{\d:([^}]*)\}/g, "$1")} } }`;
  return `${needs}, such as \`use: ${name}\` with \`resources: ${resource}\``;
}

/** Explains a resource's name used as a field, which in other tools holds what is done with the resource. */
function nameOfResource(
  name: string,
  resources: ReadonlyMap<string, Resource> | undefined,
): string | undefined {
  return resources?.has(name)
    ? `a resource is named by \`use: ${quoted(name)}\`, and what is done with it stands beside that`
    : undefined;
}

/** Explains a name that belongs to the resource, or to another type's steps: most likely the step uses the wrong resource. */
function nameOfOtherType(
  name: string,
  { name: resource, type }: Exclude<Resource, { kind: "typeless" }>,
): string | undefined {
  if (Object.hasOwn(type.file.resource.def.shape, name))
    return `\`${name}\` stands in the resource \`${quoted(resource)}\`, not in a step`;
  const other = Object.values(resourceTypes).find(({ file }) => Object.hasOwn(file.step.def.shape, name));
  if (other === undefined || other === type) return undefined;
  return `\`${name}\` belongs to a step of type ${other.type}, but \`${quoted(resource)}\` is of type ${type.type}, whose steps have ${type.actions}`;
}
