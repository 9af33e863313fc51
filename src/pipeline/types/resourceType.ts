import type * as z from "zod/mini";
import type { ProblemList } from "../file/problemList.ts";
import type { StepReading } from "../file/readValues.ts";
import type { Path } from "../file/yamlSource.ts";

/** A schema of a map in the file, whose fields can be listed. */
type FileSchema = z.ZodMiniType & { readonly def: { readonly shape: Readonly<Record<string, unknown>> } };

/** A resource type: how the file writes its resources and steps, how they are read, and the texts of their fields. */
export interface ResourceType<Step extends { readonly type: string }> {
  readonly type: Step["type"];
  /** What a resource of this type is for, in one sentence. */
  readonly meaning: string;
  /** What a step of it does, for messages: "`run`", "one of get, post". */
  readonly actions: string;
  /** A resource and a step as the file writes them; for the JSON Schema, completion and hover. */
  readonly file: { readonly resource: FileSchema; readonly step: FileSchema };
  /** What completion offers as a whole: a resource's name and its fields behind `type`; a step's name and its lines. */
  readonly snippets: {
    readonly resource: { readonly name: string; readonly fields: string };
    readonly step: { readonly name: string; readonly lines: readonly string[] };
  };
  /** A valid resource, with which the steps of an invalid one are read: they are not blamed for what that one lacks. */
  readonly validResource: Readonly<Record<string, unknown>>;
  /**
   * Checks a resource's entry and adds its problems to `problems`.
   * @returns the reader of the steps that use it; undefined when the entry is invalid.
   */
  readResource(entry: unknown, path: Path, problems: ProblemList): ReadStep<Step> | undefined;
}

/** Reads a step's entry. @returns undefined when it is invalid; its problems are then in `reading.problems`. */
export type ReadStep<Step> = (entry: unknown, reading: StepReading) => Step | undefined;
