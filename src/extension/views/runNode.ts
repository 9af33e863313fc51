import type { Run, Step } from "../../contract/run.ts";

/** When a run counts in the list of runs; `ended` where the service doesn't tell when it began. */
export type RunGroup = "in-work" | "today" | "earlier" | "ended";

/**
 * An element of the Runs view. One run stays one object as long as the list has it, since the editor knows its rows by
 * their objects; what is known of it is replaced.
 */
export type RunNode = GroupNode | RunRowNode | StepNode | NoteNode | OlderNode;

export interface GroupNode {
  readonly kind: "group";
  readonly group: RunGroup;
  children: readonly (RunRowNode | OlderNode)[];
}

export interface RunRowNode {
  readonly kind: "run";
  /** For the menus' commands, which get the element itself. */
  readonly runId: string;
  run: Run;
  /** Whether its steps show: the editor forgets that when the run goes on to another group. */
  isUnfolded: boolean;
}

export interface StepNode {
  readonly kind: "step";
  readonly runId: string;
  readonly index: number;
  step: Step;
}

/** A line in place of a run's steps. */
export interface NoteNode {
  readonly kind: "note";
  readonly runId: string;
  readonly text: string;
  readonly isFault: boolean;
}

/** Stands where older runs come: loads them as soon as it is on the screen, or when it is chosen. */
export interface OlderNode {
  readonly kind: "older";
  /** The oldest run that is listed; after another it is another row, which loads again. */
  behind: string;
}
