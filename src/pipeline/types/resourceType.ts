import type { ProblemList } from "../parse/problemList.ts";
import type { StepReading } from "../parse/readStep.ts";
import type { Path } from "../parse/yamlSource.ts";
import type { ResourceTypeName, Step } from "../pipeline.ts";

/** How the parser reads the resources of one type and the steps that use them. */
export interface ResourceType {
  readonly type: ResourceTypeName;
  /** What a step of it does, for messages: "`run`", "one of get, post". */
  readonly actions: string;
  /** Every name that may stand in a step of it, by which a step that uses the wrong resource is recognised. */
  readonly stepNames: readonly string[];
  /** A right entry, by which the steps of one that is wrong are read: they aren't blamed for what that one lacks. */
  readonly standIn: Readonly<Record<string, unknown>>;
  /**
   * Checks a resource's entry; what is wrong goes to `problems`.
   * @returns what reads the steps that use it; undefined when the entry is wrong.
   */
  readResource(entry: unknown, path: Path, problems: ProblemList): ReadStep | undefined;
}

/** Reads a step's entry. @returns undefined when it is wrong, which `reading.problems` then holds. */
export type ReadStep = (entry: unknown, reading: StepReading) => Step | undefined;

/** Says more about a name that a step of this type doesn't know. @returns undefined when there is no more to say. */
export type ForeignName = (name: string) => string | undefined;
