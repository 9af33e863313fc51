import { checkShape, type Shape } from "../file/checkShape.ts";
import type { ProblemList } from "../file/problemList.ts";
import type { StepReading } from "../file/readValues.ts";
import type { Path } from "../file/yamlSource.ts";

/** A resource type: how the file writes its resources and steps, how they are read, and the texts of their fields. */
export interface ResourceType<Step extends { readonly type: string }> {
  readonly type: Step["type"];
  /** What a resource of this type is for, in one sentence. */
  readonly meaning: string;
  /** What a step of it does, for messages: "`run`", "one of get, post". */
  readonly actions: string;
  /** A resource and a step as the file writes them; for the JSON Schema, completion and hover. */
  readonly file: { readonly resource: Shape<unknown>["schema"]; readonly step: Shape<unknown>["schema"] };
  /** What completion offers as a whole: a resource's name and its fields after `type`; a step's name and its lines. */
  readonly snippets: {
    readonly resource: { readonly name: string; readonly fields: string };
    readonly step: { readonly name: string; readonly lines: readonly string[] };
  };
  /** A valid resource, with which the steps of an invalid one are read, so that they aren't blamed for its mistakes. */
  readonly validResource: Readonly<Record<string, unknown>>;
  /**
   * Checks a resource's entry and adds its problems to `problems`.
   * @returns the reader of the steps that use it; undefined when the entry is invalid.
   */
  readResource(entry: unknown, path: Path, problems: ProblemList): ReadStep<Step> | undefined;
}

/** Reads a step's entry. @returns undefined when it is invalid; its problems are then in `reading.problems`. */
export type ReadStep<Step> = (entry: unknown, reading: StepReading) => Step | undefined;

/** A resource of the file whose shape is checked. */
export interface ReadResource<File> {
  readonly file: File;
  readonly path: Path;
}

/** Makes a type from what reads its resources and steps once their shapes are checked. */
export function resourceType<File, StepFile, Step extends { readonly type: string }>({
  readResource,
  ...type
}: Omit<ResourceType<Step>, "file" | "readResource"> & {
  readonly file: {
    readonly resource: Shape<File>["schema"];
    readonly step: Shape<StepFile>["schema"];
  };
  /**
   * @returns the reader of steps, which returns undefined for a step that does nothing; undefined if the resource is so invalid
   *   that its steps can't be read.
   */
  readResource(
    resource: ReadResource<File>,
    problems: ProblemList,
  ): ((step: StepFile, reading: StepReading) => Step | undefined) | undefined;
}): ResourceType<Step> {
  const noun = `${/^[hs]/.test(type.type) ? "an" : "a"} ${type.type}`;
  return {
    ...type,
    readResource(entry, path, problems) {
      const shape = { schema: type.file.resource, noun: `${noun} resource` };
      const file = checkShape(shape, entry, path, problems);
      const readStep = file && readResource({ file, path }, problems);
      if (readStep === undefined) return undefined;
      return (step, reading) => {
        const { foreignName: foreign } = reading;
        const stepShape = { schema: type.file.step, noun: `${noun} step`, foreign };
        const stepFile = checkShape(stepShape, step, reading.path, reading.problems);
        if (stepFile === undefined) return undefined;
        const read = readStep(stepFile, reading);
        if (read === undefined)
          reading.problems.add(reading.path, `this step does nothing; ${noun} step has ${type.actions}`);
        return read;
      };
    },
  };
}
